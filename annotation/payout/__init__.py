"""Paying what is due: batches, bonuses on Prolific, and files for other platforms.

Start with batches.py (what is due) and payments.py (which sends money). A bonus is never requested
twice, because its batch is marked as paying before the request is sent.
"""
