"""Annotators' pages, the API for participants, and the study preview.

Read pages.py first. state.py selects a participation's page, and turn.py renders a question or
reveal. A question's context never contains gold answers.
"""
