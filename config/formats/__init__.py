"""Corrections to Django's number formats that make them match CLDR, which browsers use."""
