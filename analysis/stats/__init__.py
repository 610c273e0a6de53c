"""Statistics as pure functions on numbers and sets, without Django or our models.

Start with uncertainty.py. docs/statistics.md gives formulas and sources.
"""
