"""Simulated annotators, for demos, tests and rehearsals.

Begin with simulated_annotators.py. Code that serves people never imports this package; in pages and
the API, only modules that start simulated annotators in a rehearsal do.
"""
