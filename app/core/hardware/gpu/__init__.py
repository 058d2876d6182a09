"""GPUs of every vendor: specifications and telemetry."""
