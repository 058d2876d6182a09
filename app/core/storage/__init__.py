"""The database: runs, groups and imported logs."""
