"""The design of a study: its rules, states from draft to closed, frozen manifest, and team.

Begin with design.py; forms.py, pages.py and api.py set and show a design. The rules know nothing of
a participation's answers.
"""
