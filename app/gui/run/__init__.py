"""One run on screen, live or stored."""
