"""What all addresses under /api/v1/ share: tokens, limits, the format of errors, parameters.

Begin at `views.ApiView`. Requests pass the access checks of pages (annotation/access.py); a token
needs both its own scope and its owner's role. Addresses are listed in urls.py, those of results in
analysis/urls.py. Participation by program is in joining.py and participants.py.
"""
