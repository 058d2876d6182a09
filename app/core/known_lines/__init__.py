"""Known lines of logs: what they mean and what to do."""
