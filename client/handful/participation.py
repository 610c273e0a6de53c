"""Taking part in a study, one step after another.

People use a study's pages. A program can take the place of a person only if the design allows it
(programs_as_people), and tables then say so. Models and simulated annotators are separate kinds of
annotators. The server decides which step comes next, and every call returns the new state. If an
answer is sent twice, the first one counts.
"""

from contextlib import AbstractContextManager
from typing import Any, Self
from urllib.parse import urlsplit

from handful.connection import Connection, Record


class Participation(AbstractContextManager["Participation"]):
    """One annotator's place in a study. `state["step"]` is the step that the server expects next.

    Every method raises ApiError, with the current `state`, if the server rejects it.
    """

    def __init__(self, server: str, token: str, **options: Any):
        self._connection = Connection(server, token, **options)
        self.token = token
        self.state: Record = {}

    @classmethod
    def join(
        cls,
        server: str,
        link: str,
        *,
        researcher: str | None = None,
        options: dict[str, Any] | None = None,
        **body: Any,
    ) -> Self:
        """Join a study by its link, or by the code in it. Raises ApiError if no seat is free.

        The kinds simulated and model require a `researcher` token with the run scope. The kind
        person is rejected (code people_use_pages) unless the design allows programs.
        """
        code = urlsplit(link).path.rstrip("/").rpartition("/")[2]
        with Connection(server, researcher or "", **(options or {})) as connection:
            if not researcher:
                del connection.http.headers["Authorization"]
            address = f"join/{code}/"
            if "arrival" not in body and not researcher:
                # This makes joining idempotent, in case the reply is lost.
                body["arrival"] = connection.get(address)["arrival"]
            reply = connection.post(address, body, again="arrival" in body)
        participation = cls(server, reply["token"], **(options or {}))
        participation.state = reply["state"]
        return participation

    def __exit__(self, *_error: object) -> None:
        self._connection.close()

    @property
    def step(self) -> str:
        """Return the current step: consent, instructions, question, reveal, finished, ..."""
        return str((self.state or self.refresh())["step"])

    def refresh(self) -> Record:
        self.state = self._connection.get("work/")
        return self.state

    def consent(self, agree: bool = True) -> Record:
        return self._do("consent", agree=agree)

    def begin(self) -> Record:
        """Show the first example."""
        return self._do("begin")

    def answer(self, **answer: Any) -> Record:
        """Answer with the field for the task (label, spans, text, ...), or with no_answer=True."""
        return self._do("answer", turn=self.state["question"]["turn"], answer=answer)

    def confidence(self, point: int | None = None, reason: str = "") -> Record:
        """Rate your confidence in the answer from 1 (0 % sure) to 5 (100 %). None skips this."""
        turn = self.state["question"]["turn"]
        return self._do("confidence", turn=turn, confidence=point, reason=reason)

    def go_on(self) -> Record:
        """Go on from a reveal, the review of the training, or instructions."""
        return self._do("continue", leaving=self.step)

    def comprehension(self, *places: int) -> Record:
        """Answer the questions about the instructions with the indexes of options, from 0."""
        return self._do("comprehension", answers=list(places))

    def own_questions(self, **answers: str) -> Record:
        """Answer the study's own questions. The arguments are named by question id."""
        return self._do("own-questions", answers=answers)

    def questionnaire(self, **replies: str) -> Record:
        return self._do("questionnaire", **replies)

    def withdraw(self) -> Record:
        """Leave the study. The server then erases the answers."""
        return self._do("withdraw")

    def history(self) -> Record:
        """Return the answers so far, with any gold answers already revealed."""
        return self._connection.get("work/history/")

    def _do(self, step: str, **body: Any) -> Record:
        self.state = self._connection.post(f"work/{step}/", body, again=True)
        return self.state
