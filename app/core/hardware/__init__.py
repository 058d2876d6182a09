"""What this computer is, and what it does right now, on every system."""
