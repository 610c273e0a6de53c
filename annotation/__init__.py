"""Who answers, and how: people, studies and the steps of the protocol.

Begin with steps/training_step.py and steps/annotation_step.py; docs/architecture.md draws the
rooms. This package knows `tasks` and must not know `analysis`.
"""
