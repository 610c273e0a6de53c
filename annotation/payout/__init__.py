"""Paying what is due: batches, bonuses on Prolific, files for other platforms.

Start with batches.py (what is due), then payments.py (sends money). A bonus is never requested
twice: a batch is marked as paying first.
"""
