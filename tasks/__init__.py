"""Tasks: examples, cards, per-answer scores, predictions and jobs.

Start with formats.py and importing.py. This package knows nothing about studies. Its pure core
(metrics, spans, comparison, formats, cards, predictions.format) uses neither Django nor pandas.
"""
