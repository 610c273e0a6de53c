"""What a researcher watches while a study runs: progress, quality flags, answers for the report.

Begin with progress.py, whose parts are funnel.py, seats.py, costs.py; overview.py shows
many studies, participants.py the people of one. Nothing here changes a participation.
"""
