"""The annotator's pages, the participant API, and the study preview.

Start with pages.py; state.py selects a participation's page, and turn.py renders one question or
reveal. A question's context never contains gold.
"""
