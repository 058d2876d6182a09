"""One result as a file that other people can import: its record, canonical form and digest."""
