"""What an annotator sees: landing page, consent, questions, reveals, the end.

Begin with views.py (addresses in urls.py); state.py says which page a participation shows and
turn.py renders one question or reveal. Gold is not in the context of a question.
"""
