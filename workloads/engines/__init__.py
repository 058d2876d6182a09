"""Deep learning engines: the common interface, one module per engine, and the registry."""
