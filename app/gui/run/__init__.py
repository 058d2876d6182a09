"""Displays runs, live or stored."""
