"""A study's design: rules, states from draft to closed, frozen manifest, and team.

Read design.py first. forms.py, pages.py and api.py change and show a design. The rules
never read participants' answers.
"""
