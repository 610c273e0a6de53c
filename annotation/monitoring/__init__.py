"""Monitoring a running study: progress, quality flags, and the researcher's answers for the report.

Start with progress.py, which draws on funnel.py and seats.py. overview.py lists studies, and
participants.py lists a study's participants. Only decisions.py changes any.
"""
