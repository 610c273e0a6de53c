"""Monitor a running study: progress, quality flags, and answers for the report.

Read progress.py first; it draws on funnel.py, seats.py and overview.py, which lists studies.
participants.py lists a study's participants. Nothing in this package changes a participation.
"""
