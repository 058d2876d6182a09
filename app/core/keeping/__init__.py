"""What is kept, and what leaves: the database, data sets, exports."""
