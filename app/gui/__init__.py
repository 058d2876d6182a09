"""The window. The only place that knows Qt; shows what app.core does and decides nothing itself."""
