"""GPUs from every vendor: specifications and telemetry."""
