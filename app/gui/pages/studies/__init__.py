"""The Studies page, which answers questions with several runs."""
