"""Sharing and importing results, as files or pictures."""
