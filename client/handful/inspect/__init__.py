"""Models as annotators through Inspect AI (the handful[inspect] extra).

Start with `conversation.py`, which builds prompts and parses replies, and `participate.py`, which
goes through the steps of a study. `task.py` is the entry point for Inspect. Answers are scored by
the server, as they are for human annotators.
"""
