"""Arabic with the digits that Django writes."""
