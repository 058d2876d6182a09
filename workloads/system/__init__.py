"""Hardware tests: arithmetic, memory and storage."""
