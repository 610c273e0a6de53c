"""Corrections that bring Django's number formats in line with CLDR, which browsers use."""
