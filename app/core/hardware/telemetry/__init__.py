"""What the computer does while something runs: telemetry."""
