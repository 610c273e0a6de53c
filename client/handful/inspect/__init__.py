"""Models as annotators, through Inspect AI (the extra handful[inspect]).

Start with `conversation.py` (what a model reads, and how its reply is parsed) and `participate.py`
(the steps it takes); `task.py` is the entry point for Inspect. The server scores the answers, as it
does for human annotators.
"""
