"""What the machine is, running, judging and keeping: no Qt, no engine, usable in a notebook."""
