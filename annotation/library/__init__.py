"""Pages, forms and API for tasks: import, datasets, the Few-shot Gym, the list of tasks.

Read tasks.py first. The `tasks` package contains the rules; this package contains the pages.
"""
