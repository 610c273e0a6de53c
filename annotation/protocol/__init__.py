"""The steps of the protocol, one module each: training, screening, annotation, checks.

Start with answering.py, which stores an answer and decides what follows. Steps know about
recruitment, pay and the study, but not about pages.
"""
