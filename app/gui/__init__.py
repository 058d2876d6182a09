"""The GUI, the only package that uses Qt, displays the results of app.core and contains no other logic."""
