"""Simulated annotators, for demos, tests and rehearsals.

Read simulated_annotators.py first. Code for human annotators never imports this package. In the
pages and the API, only modules that start simulated annotators in a rehearsal import it.
"""
