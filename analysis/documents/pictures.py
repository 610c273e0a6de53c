"""The section of the report with the figures."""

from analysis.documents.blocks import Block, Grid, Paragraph, Picture
from analysis.documents.study_record import StudyRecord
from analysis.figures import data as figure_data
from analysis.tables import published
from annotation.models import Kind


def _has_models(record: StudyRecord) -> bool:
    """Is there a model, in a file or in a seat, or a figure that CLUES printed for a task?"""
    seated = Kind.MODEL in set(record.frame["kind"])
    return bool(record.model_names) or seated or any(map(published.name_of, record.tasks))


def blocks(record: StudyRecord) -> list[Block]:
    """Pictures if they can be drawn, else the numbers behind them."""
    if record.analysed.empty:
        return [Paragraph("No annotator has completed the study yet.")]
    shown: list[Block] = []
    for figure in figure_data.page_figures(record.study, Kind.PERSON):
        if figure.name == "models" and not _has_models(record):
            continue
        if figure.why_not:
            shown.append(Paragraph(f"{figure.title}: {figure.why_not}"))
        elif figure_data.can_draw():
            caption = f"{figure.title}. {figure.caption}"
            shown.append(Picture(figure.name, caption, figure.description))
        else:
            grid = Grid.of(figure.title, figure.columns, figure.numbers, [figure.caption])
            shown.append(grid)
    return shown
