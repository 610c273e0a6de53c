"""What is earned, what a study may cost, and how it is paid.

Begin with ledger.py (insert-only entries); budget.py and holds.py stand on it. batches.py
collects what is due, payout.py sends money and may know platforms; the others must not.
"""
