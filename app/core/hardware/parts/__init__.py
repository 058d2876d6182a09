"""The computer's components except GPUs: CPU, memory, disks and a machine ID."""
