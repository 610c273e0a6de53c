"""The order of tasks in tables and lists: the paper's, then other tasks."""

TASKS = ("SST-2", "MNLI", "CoNLL03", "WikiANN", "SQuADv2", "ReCoRD")  # of CLUES, Table 4


def place(name: str) -> tuple[int, str]:
    """Return the sort key of a task: the paper's tasks in its order, then others by name.

    >>> sorted(["ReCoRD", "movies", "MNLI", "SST-2"], key=place)
    ['SST-2', 'MNLI', 'ReCoRD', 'movies']
    """
    return (TASKS.index(name) if name in TASKS else len(TASKS), name)
