"""A result as a file that other people can import: record, canonical form and digest."""
