"""What is asked: tasks, their examples and cards, scores of one answer, predictions, jobs.

Begin with formats.py and importing.py. This package knows nothing about people; its pure core
(metrics, spans, comparison, formats, cards, predictions.format) knows neither Django nor pandas.
"""
