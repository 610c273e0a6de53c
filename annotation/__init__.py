"""Participants, studies and the steps of the protocol.

Start with protocol/training_step.py and protocol/answering.py. docs/architecture.md has a
diagram of the packages. This package may import `tasks` but not `analysis`.
"""
