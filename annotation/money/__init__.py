"""Earnings, budgets and payments.

Begin with ledger.py (insert-only entries); budget.py and holds.py build on it. batches.py collects
what is due, payout.py sends money and may import platforms; the others must not.
"""
