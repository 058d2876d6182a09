"""The software that trains: what an engine is, one file for each, and the table of all."""
