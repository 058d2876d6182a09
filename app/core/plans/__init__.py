"""What holds for plans of every kind."""
