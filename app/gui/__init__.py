"""The GUI. This is the only package that uses Qt. It displays the results of app.core and has no other logic."""
