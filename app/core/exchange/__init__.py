"""Shares and imports results, as files or pictures."""
