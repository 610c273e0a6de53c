"""Task pages, forms and API: import, datasets, the Few-shot Gym, the task list.

Read tasks.py first. The `tasks` package contains the rules; this package contains the pages.
"""
