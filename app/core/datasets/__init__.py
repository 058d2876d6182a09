"""Downloads, imports, checks and removes data sets."""
