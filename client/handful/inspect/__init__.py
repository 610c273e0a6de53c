"""Models in the annotator's seat, through Inspect AI (the extra handful[inspect]).

Begin with `conversation.py` (what a model reads, and its reply as an answer) and `participate.py`
(how it takes part); `task.py` is what Inspect finds by the entry point. Nothing here scores: the
server does, as for people.
"""
