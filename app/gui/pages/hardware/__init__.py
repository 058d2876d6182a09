"""This computer, right now, and its check-up."""
