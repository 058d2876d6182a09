"""Data sets as files: fetched, imported, checked, removed."""
