"""The steps of the protocol, one module each: training, screening, annotation, checks.

Begin with answering.py, which stores an answer and decides what follows. Steps know recruitment,
pay and the study, but no pages.
"""
