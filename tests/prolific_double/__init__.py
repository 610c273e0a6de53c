"""A test double of Prolific with the API that Handful calls, participants and payments.

Its requests and replies match Prolific's OpenAPI document
(tests/annotation/prolific/test_prolific_openapi.py). Start with platform.py, which has the API
calls. people.py has the actions of participants, books.py the state and the effects of actions,
rules.py the checks, and site.py the addresses.
"""
