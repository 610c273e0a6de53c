"""Pages, forms and API for tasks: importing them, datasets, the Few-shot Gym, the task list.

Start with tasks.py. The rules are in the `tasks` package, and the pages in this one.
"""
