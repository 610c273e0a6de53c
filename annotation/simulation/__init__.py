"""Simulated annotators for demos, tests and rehearsals.

Start with simulated_annotators.py. Code for human annotators never imports this package. Among
pages and API views, only those that start simulated annotators in a rehearsal import it.
"""
