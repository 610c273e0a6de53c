"""Earnings and budgets: what participants earn, what a seat can cost, what the budget covers.

Read ledger.py (insert-only entries) first. budget.py and holds.py build on it. This package must
not import the study package, because study designs depend on what a seat can cost.
"""
