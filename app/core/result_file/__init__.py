"""One result as a file that other people can read: its record, its canonical form and its digest."""
