"""Compare models with humans: predictions, models as annotators, differences, leaderboards.

Start with models.py (uploaded predictions) and model_runs.py (models acting as annotators).
"""
