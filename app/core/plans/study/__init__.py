"""Studies: several runs that answer one question, such as whether a larger batch is faster."""
