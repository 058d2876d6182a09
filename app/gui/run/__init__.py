"""One run on screen, wherever it is shown."""
