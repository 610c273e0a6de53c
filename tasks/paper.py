"""The order of tasks wherever they stand beside each other: the paper's, then one's own."""

TASKS = ("SST-2", "MNLI", "CoNLL03", "WikiANN", "SQuADv2", "ReCoRD")  # of CLUES, Table 4


def place(name: str) -> tuple[int, str]:
    """What tasks are sorted by: the paper's in its order, then others by name.

    >>> sorted(["ReCoRD", "movies", "MNLI", "SST-2"], key=place)
    ['SST-2', 'MNLI', 'ReCoRD', 'movies']
    """
    return (TASKS.index(name) if name in TASKS else len(TASKS), name)
