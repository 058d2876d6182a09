"""The computer's parts except GPUs: CPU, memory, disks and a machine ID."""
