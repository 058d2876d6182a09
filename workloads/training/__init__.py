"""How training is timed, and how it is shown to be real."""
