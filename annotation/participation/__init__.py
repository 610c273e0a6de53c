"""Annotators' pages, the API for participants, and the preview of a study.

Read pages.py first. state.py selects the page of a participation, and turn.py renders a question
or reveal. The context of a question never contains gold.
"""
