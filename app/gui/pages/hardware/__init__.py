"""This computer: components, live telemetry, doctor."""
