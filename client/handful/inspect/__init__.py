"""Models as annotators through Inspect AI (the handful[inspect] extra).

Start with `conversation.py`, which builds prompts and parses replies, and `participate.py`, which
steps through a study. `task.py` is the entry point for Inspect. The server scores the answers, as
it does for human annotators.
"""
