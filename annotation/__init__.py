"""Participants, studies and the steps of the protocol.

Begin with steps/training_step.py and steps/annotation_step.py; docs/architecture.md draws the
packages. This package may import `tasks` but not `analysis`.
"""
