"""The annotator's pages, the API of participants, and the preview of a study.

Begin with pages.py; state.py selects the page of a participation, turn.py renders one question or
reveal. The context of a question never contains gold.
"""
