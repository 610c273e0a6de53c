"""The section of the report with the figures."""

from analysis.documents.blocks import Block, Grid, Paragraph, Picture
from analysis.documents.study_record import StudyRecord
from analysis.figures import data as figure_data
from annotation.models import Kind


def blocks(record: StudyRecord) -> list[Block]:
    """Pictures if they can be drawn, else the numbers behind them."""
    if record.analysed.empty:
        return [Paragraph("No annotator has completed the study yet.")]
    shown: list[Block] = []
    for figure in figure_data.page_figures(record.study, Kind.PERSON):
        if figure.why_not:
            shown.append(Paragraph(f"{figure.title}: {figure.why_not}"))
        elif figure_data.can_draw():
            caption = f"{figure.title}. {figure.caption}"
            shown.append(Picture(figure.name, caption, figure.description))
        else:
            grid = Grid.of(figure.title, figure.columns, figure.numbers, [figure.caption])
            shown.append(grid)
    return shown
