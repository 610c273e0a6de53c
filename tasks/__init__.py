"""Tasks: examples, cards, scores of single answers, predictions and jobs.

Start with formats.py and importing.py. This package does not depend on studies. Its pure core
(such as metrics, spans, comparison, formats and cards) uses neither Django nor pandas.
"""
