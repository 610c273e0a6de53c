"""Cross-task gains, for studies that train annotators on upstream tasks (CrossFit).

Start with cross_task.py.
"""
