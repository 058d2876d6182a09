"""Services for the pages: the computer, settings, background work, the current run."""
