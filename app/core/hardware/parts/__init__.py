"""The parts of a computer but its graphics cards: processor, memory, disks, and a number for all."""
