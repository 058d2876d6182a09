"""Data sets as files: downloading, importing, checking and removing them."""
