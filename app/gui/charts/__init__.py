"""Charts and bars, live or stored."""
