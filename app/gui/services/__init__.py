"""Services for the pages: the computer, settings, background tasks and the current run."""
