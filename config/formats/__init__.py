"""Corrections to Django's number formats, to match the CLDR formats used by browsers."""
