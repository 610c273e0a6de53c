"""What every address under /api/v1/ shares: tokens, limits, the form of errors, parameters.

Begin at `views.ApiView`. A program passes through the doors of annotation/access.py like a page;
what it may do is its token's scope and its owner's role, both. The addresses stand in urls.py,
those of results in analysis/urls.py. Those who take part: joining.py, participants.py.
"""
