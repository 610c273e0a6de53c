"""The steps of the protocol: training, screening, annotation, checks and more.

Start with answering.py, which stores an answer and decides what comes next. The steps build on
recruitment, pay and the study, but not on pages.
"""
