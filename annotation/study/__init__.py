"""The design of a study: its rules, its life from draft to closed, its frozen manifest, its team.

Begin with design.py. Nothing here knows a participation's answers.
"""
