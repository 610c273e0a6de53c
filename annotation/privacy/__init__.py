"""Withdrawal, erasure, personal data on request, and retention.

Read erasure.py first, which deletes answers and leaves a tombstone. withdrawal.py uses it. No
other package deletes participants' rows.
"""
