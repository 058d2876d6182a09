"""Graphics cards of every vendor: what they are, and what they do."""
