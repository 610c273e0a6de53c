"""Withdrawal, erasure, personal data on request, and retention.

Begin with erasure.py, which deletes answers and leaves a tombstone; withdrawal.py uses it. No other
package deletes rows of participants.
"""
