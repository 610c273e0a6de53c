"""A test double of Prolific: the API that Handful calls, its participants and its payments.

Prolific's OpenAPI document defines its requests and replies
(tests/annotation/prolific/test_prolific_openapi.py). Start with platform.py, the calls of a
researcher's program. people.py has what participants do, books.py what follows from it, rules.py
the checks, and site.py the addresses.
"""
