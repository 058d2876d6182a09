"""GPUs of every vendor: parts and telemetry."""
