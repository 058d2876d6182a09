"""The window, the only package that uses Qt; it shows what app.core does and decides nothing itself."""
