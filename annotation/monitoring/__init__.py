"""Monitoring of a running study: progress, quality flags, answers for the report.

Begin with progress.py, whose parts are funnel.py, seats.py and costs.py; overview.py lists many
studies, participants.py the people of one study. Nothing here changes a participation.
"""
