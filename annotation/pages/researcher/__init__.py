"""The researcher's pages: tasks, studies, annotators, platforms, lists, links, pay, team.

Begin with urls.py. Results have pages of their own in analysis/pages.
"""
