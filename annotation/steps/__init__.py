"""The steps of the protocol, one module each, from the training step to withdrawal.

Begin with answering.py, which stores an answer and decides what follows. Steps know recruitment,
money and the study, but no pages.
"""
