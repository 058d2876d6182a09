"""The Studies page: answers questions with several runs."""
