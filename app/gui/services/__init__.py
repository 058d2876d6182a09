"""What pages are given: the machine, settings, background work, the run that goes on."""
