"""Results by example: difficulty, disagreement, comments, and the audit of gold answers.

Begin with difficulty.py.
"""
