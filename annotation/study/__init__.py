"""A study's design: its rules, states from draft to closed, frozen manifest, and team.

Start with design.py. Designs are changed and shown by forms.py, pages.py and api.py. The rules
never depend on participants' answers.
"""
