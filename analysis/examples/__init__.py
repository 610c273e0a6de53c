"""Per-example results: difficulty, disagreement, comments, and the gold answer audit.

Start with difficulty.py.
"""
