"""What is told elsewhere about a study: webhooks, signed and kept until they have arrived.

Begin at webhooks.py (what is told, and when), then sending.py (how, and to whom it may go). Nothing
here runs in an annotator's request: what happened is read from the rows that the steps have stored.
"""
