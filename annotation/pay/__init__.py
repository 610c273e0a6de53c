"""Earnings and budgets: what participants earn, what a seat can cost, what the budget covers.

Start with ledger.py (insert-only entries); budget.py and holds.py build on it. This package must
not import the study, because a design has to know what one seat can cost.
"""
