"""The design of a study: rules, states from draft to closed, frozen manifest, and team.

Read design.py first. forms.py, pages.py and api.py change and show a design. The rules do not use
the answers of participations.
"""
