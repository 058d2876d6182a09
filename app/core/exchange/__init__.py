"""Results that travel: what leaves in a file or a picture, and what comes back from others."""
