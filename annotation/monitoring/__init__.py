"""Monitor a running study: progress, quality flags, and answers for the report.

Read progress.py first; its parts are funnel.py, seats.py and costs.py. overview.py lists studies,
and participants.py lists a study's participants. Nothing here changes a participation.
"""
