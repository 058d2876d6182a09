"""Exports a report as a single, self-contained HTML page."""
