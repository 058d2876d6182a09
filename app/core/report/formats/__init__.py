"""The formats that runs are exported in, one a file; app.core.report.export has the table of all."""
