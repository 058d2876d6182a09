"""The Studies page: questions answered by several runs."""
