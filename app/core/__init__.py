"""Core of the app: hardware, runs, verdicts and storage. It uses neither Qt nor an engine."""
