"""Arabic number formats."""
