"""The export formats, one per file; app.core.report.export has the table."""
