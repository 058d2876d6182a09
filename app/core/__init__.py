"""Hardware, runs, verdicts and storage: no Qt, no engine, usable in a notebook."""
