"""The software that trains: the engine interface, one file per engine, and the registry."""
