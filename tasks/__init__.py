"""Tasks: examples, cards, the score of one answer, predictions and jobs.

Start with formats.py and importing.py. This package is independent of studies; its pure core
(metrics, spans, comparison, formats, cards, predictions.format) uses neither Django nor pandas.
"""
