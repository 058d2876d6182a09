"""The Studies page: several runs that answer one question."""
