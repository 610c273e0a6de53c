"""Pages, forms and API for tasks: import, datasets, the Few-shot Gym, the list of tasks.

Start with tasks.py. The `tasks` package has the rules for tasks; this package displays them.
"""
