"""Where Django's own formats of a language differ from CLDR, by which browsers write numbers."""
