"""What a researcher watches while a study runs: progress, quality flags, answers for the report.

Begin with progress.py. Nothing here changes a participation.
"""
