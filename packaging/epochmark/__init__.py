"""The installed Epochmark. Its packages are inside this one, because other projects also have an `app`."""
