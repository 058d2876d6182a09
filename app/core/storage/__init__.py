"""The database: runs, groups and imported logs, kept and read back."""
