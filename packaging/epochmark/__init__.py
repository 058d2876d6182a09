"""The installed Epochmark. All packages are inside this one, because other projects may also have an `app`."""
