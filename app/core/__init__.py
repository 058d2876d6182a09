"""Core of the app: hardware, runs, verdicts and storage. The core uses neither Qt nor an engine."""
