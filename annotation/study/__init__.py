"""The design of a study: its rules, states from draft to closed, frozen manifest, and team.

Begin with design.py. Nothing here knows a participation's answers.
"""
