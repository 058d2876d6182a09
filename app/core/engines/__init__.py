"""Installs, checks and removes optional engines (PyTorch, JAX)."""
