"""A study's design: its rules, states from draft to closed, frozen manifest, and team.

Start with design.py; forms.py, pages.py and api.py set and show a design. The rules know nothing
about a participation's answers.
"""
