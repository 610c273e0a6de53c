"""Withdrawal, erasure, personal data on request, and retention.

Start with erasure.py, which deletes answers and leaves a tombstone; withdrawal.py builds on it.
Only recruitment/consent.py also deletes participants' rows.
"""
