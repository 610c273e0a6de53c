"""The annotator's pages: landing page, consent, questions, reveals, the end.

Begin with views.py (addresses in urls.py); state.py selects the page of a participation and turn.py
renders one question or reveal. The context of a question never contains gold.
"""
