"""Statistics as pure functions on numbers and sets, independent of Django and our models.

Start with uncertainty.py. Formulas and sources are in docs/statistics.md.
"""
