"""The window, the only package that uses Qt. It shows the results of app.core and contains no other logic."""
