"""Statistics: pure functions on numbers and sets, without Django and without our models.

Begin with uncertainty.py; docs/statistics.md has formulas and sources.
"""
