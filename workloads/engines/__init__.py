"""Engines, the software that trains: the interface, one file per engine, and the registry."""
