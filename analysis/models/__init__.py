"""Models next to humans: uploaded predictions, models as annotators, differences, leaderboard.

Begin with models.py (uploaded predictions) and model_runs.py (models that take part).
"""
