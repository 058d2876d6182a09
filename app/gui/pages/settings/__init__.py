"""The Settings page, including engines and data sets."""
