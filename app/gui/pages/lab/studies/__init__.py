"""The Studies page: answers questions that require several runs."""
