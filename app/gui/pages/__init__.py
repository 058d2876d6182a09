"""The pages of the main window, one package each."""
