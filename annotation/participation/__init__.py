"""Annotators' pages, the API for participants, and the study preview.

Start with pages.py. state.py selects the page to show for a participation, and turn.py renders a
question or reveal. The context of a question never contains gold answers.
"""
