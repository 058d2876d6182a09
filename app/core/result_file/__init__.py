"""Result files, which other people can import: record, canonical form and digest."""
