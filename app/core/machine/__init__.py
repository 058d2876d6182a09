"""What the machine is, and what it does right now."""
