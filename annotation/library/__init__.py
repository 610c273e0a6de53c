"""Pages, forms and API for tasks: import, datasets, the Few-shot Gym, the list of tasks.

Begin with tasks.py. The rules of tasks are in the package `tasks`; this package shows them.
"""
