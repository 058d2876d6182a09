"""Services for the pages: the machine, settings, background work, the running run."""
