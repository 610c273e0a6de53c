"""Channel of a step: page or API. People use the pages (docs/protocol.md#invariants)."""

from annotation.models import Channel, Kind, Scenario, Study


class PeopleUsePages(Exception):
    """A program acts for a person, which the design of the study does not allow."""

    SENTENCE = (
        "People take part in this study on its pages: open its link, or the personal link, in a"
        " browser. A program can take part as a model or as a simulated annotator; it takes the"
        " seat of a person only where the design allows it (programs_as_people)."
    )

    def __init__(self) -> None:
        super().__init__(self.SENTENCE)


def check(channel: str, kind: str, design: Study | Scenario) -> None:
    """Raise PeopleUsePages if a program acts for a person and the design does not allow it."""
    if channel == Channel.API and kind == Kind.PERSON and not design.programs_as_people:
        raise PeopleUsePages
