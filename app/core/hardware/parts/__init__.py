"""The computer's components other than GPUs: CPU, memory and disks."""
