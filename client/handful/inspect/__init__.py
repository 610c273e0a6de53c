"""Models in the annotator's seat, through Inspect AI (the extra handful[inspect]).

Begin with `conversation.py` (what a model reads) and `participate.py` (how it takes part);
`task.py` and `_registry.py` are what Inspect sees. Nothing here scores: the server does, as for
people.
"""
