"""Corrections of Django's number formats to CLDR, which browsers use."""
