"""The export formats, one per module. app.core.report.export lists them."""
