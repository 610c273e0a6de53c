"""Per-example results: difficulty, disagreement, comments, and the audit of gold answers.

Start with difficulty.py.
"""
