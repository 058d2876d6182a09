"""The software that trains: how each is set up, fed and asked."""
