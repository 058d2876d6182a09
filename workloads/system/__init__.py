"""What the machine itself can do: arithmetic, memory, storage."""
