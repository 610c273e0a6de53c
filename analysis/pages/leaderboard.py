"""The leaderboard of a study's tasks: page and CSV; JSON is in api.py."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from analysis.pages.common import chosen_kind, results_of
from analysis.tables import columns, leaderboard, performance, published
from analysis.tables.leaderboard import Board
from annotation.access import ResearcherRequest, scores_of
from tasks.columns import cells
from tasks.downloads import download


@login_required
@require_GET
def page(request: ResearcherRequest, name: str) -> HttpResponse:
    study = scores_of(request, name)
    kinds = performance.kinds(study)
    kind = chosen_kind(request, kinds)
    boards = leaderboard.boards(study, kind)
    context = {
        **results_of(study),
        "kind": kind,
        "kinds": kinds,
        "boards": [_shown(board, number) for number, board in enumerate(boards)],
        "not_compared": published.not_compared(study.tasks.all()),
    }
    return render(request, "researcher/leaderboard.html", context)


def _shown(board: Board, number: int) -> dict[str, Any]:
    shown = leaderboard.of_board(board)
    groups = [
        (words, list(zip(entries, cells(shown, entries), strict=True)))
        for words, entries in board.groups
    ]
    return {
        "shown": board,
        "columns": shown,
        "groups": groups,
        "width": len(shown) + 1,
        "anchor": f"leaderboard-{number}",
    }


@login_required
@require_GET
def file(request: ResearcherRequest, name: str) -> HttpResponse:
    """One row per board, entry and size, with all digits."""
    study = scores_of(request, name)
    kind = chosen_kind(request, performance.kinds(study))
    rows = leaderboard.cells(leaderboard.boards(study, kind))
    text = columns.as_csv(leaderboard.COLUMNS, rows, kind)
    return download(text, f"{study.name}-leaderboard.csv")
