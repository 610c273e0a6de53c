"""Pay what is due: batches, bonuses on Prolific, and files for other platforms.

Read batches.py (what is due) and payments.py (sends money) first. A bonus is never requested
twice, because a batch is marked as paying before the request.
"""
