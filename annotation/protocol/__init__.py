"""The steps of the protocol, one module each: training, screening, annotation, checks.

Read answering.py first, which stores an answer and decides what follows. The steps use
recruitment, pay and the study, but not pages.
"""
