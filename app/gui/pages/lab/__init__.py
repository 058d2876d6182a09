"""The Lab: questions that take several runs to answer."""
