"""The protocol, one module a step, from the training step to withdrawal.

Begin with answering.py, which stores an answer and decides what comes next. A step knows
recruitment, money and the study, and no page.
"""
