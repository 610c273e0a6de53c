"""Participants, studies and the steps of the protocol.

Begin with protocol/training_step.py and protocol/annotation_step.py; docs/architecture.md draws the
packages. This package may import `tasks` but not `analysis`.
"""
