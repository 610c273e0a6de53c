"""Monitoring a running study: progress, quality flags, answers for the report.

Start with progress.py, whose parts are funnel.py, seats.py and costs.py; overview.py lists many
studies, and participants.py one study's participants. Nothing here changes a participation.
"""
