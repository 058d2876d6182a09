"""This computer: parts, live telemetry, doctor."""
