"""The researcher's pages: tasks, studies, annotators, platforms, lists, links, pay, team.

Begin with urls.py. Pages with results are in analysis/pages.
"""
