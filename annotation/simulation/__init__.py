"""Simulated annotators, for demos, tests and rehearsals.

Begin with robots.py.
Nothing that serves people imports this room; of pages and API
only what sends robots into a rehearsal does.
"""
