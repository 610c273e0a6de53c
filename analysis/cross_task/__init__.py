"""Gains across tasks, for studies that train annotators on upstream tasks (CrossFit).

Begin with cross_task.py.
"""
