"""The steps of the protocol, each in its own module: training, screening, annotation, checks.

Read answering.py first, which stores an answer and decides what comes next. The steps use
recruitment, pay and the study, but not pages.
"""
