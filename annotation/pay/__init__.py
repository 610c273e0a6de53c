"""Earnings and budgets: what participants earn, what a seat can cost, and what the budget covers.

Start with ledger.py (insert-only entries), on which budget.py and holds.py build. This package must
not import the study package, because study designs depend on what a seat can cost.
"""
