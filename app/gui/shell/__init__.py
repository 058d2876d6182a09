"""The main window and everything around the pages."""
