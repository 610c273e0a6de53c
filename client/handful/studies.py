"""Studies, with their designs, progress and results."""

import shutil
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

from handful.connection import ApiError, Connection, HandfulError, Jobs, Record, Rows, given

Design = Mapping[str, Any] | Path | str


class Study:
    """A study on the server. `data` is the latest response, which `refresh` updates."""

    def __init__(self, connection: Connection, jobs: Jobs, data: Record):
        self._connection, self._jobs, self.data = connection, jobs, data

    def __repr__(self) -> str:
        return f"<Study {self.name}: {self.status}>"

    @property
    def name(self) -> str:
        return str(self.data["name"])

    @property
    def status(self) -> str:
        """Return "draft", "open", "paused" or "closed", according to the latest response."""
        return str(self.data["status"])

    @property
    def link(self) -> str:
        """Return the URL for annotators."""
        return str(self.data["link"])

    def refresh(self) -> "Study":
        self.data = self._connection.get(self._at(""))
        return self

    # Administration ----------------------------------------------------------------------------

    def edit(self, **design: Any) -> "Study":
        """Change some keys of a draft's design."""
        self.data = self._connection.patch(self._at(""), design)
        return self

    def open(self) -> "Study":
        """Open the study to annotators, which freezes its design."""
        return self._move("open")

    def pause(self) -> "Study":
        return self._move("pause")

    def reopen(self) -> "Study":
        return self._move("reopen")

    def close(self) -> "Study":
        return self._move("close")

    def clone(self, name: str, *, title: str | None = None, rehearsal: bool = False) -> "Study":
        """Create a draft with the same design. Simulated annotators can join a rehearsal."""
        body = given({"name": name, "title": title, "rehearsal": rehearsal})
        data = self._connection.post(self._at("clone/"), body)
        return Study(self._connection, self._jobs, data)

    def simulate(
        self,
        policy: str = "noisy:0.8",
        number: int | None = None,
        *,
        seed: int = 0,
        progress: bool = True,
    ) -> Record:
        """Let simulated annotators take part in a rehearsal. By default, they fill all seats."""
        body = given({"policy": policy, "number": number, "seed": seed})
        job = self._connection.post(self._at("simulate/"), body)
        return self._jobs.wait(job["id"], progress=progress)

    def pay(self) -> Record:
        """Return the amounts due and the payment batches. Nothing is paid."""
        return self._connection.get(self._at("pay/"))

    def bonus(self, annotator: str, amount: Decimal | str, reason: str) -> None:
        """Give an annotator a bonus in the study's currency. The reason is recorded."""
        body = {"amount": str(amount), "reason": reason}
        self._connection.post(self._at(f"participations/{annotator}/bonus/"), body)

    def add_seats(self, scenario: int, number: int, *, confirmed: bool = False) -> None:
        """Add seats to the scenario with this id. Once there are results, set `confirmed`."""
        body = given({"scenario": scenario, "number": number, "confirmed": confirmed or None})
        self._connection.post(self._at("seats/"), body)

    # Progress ----------------------------------------------------------------------------------

    def progress(self) -> Record:
        """Return the status, the number of seats and of completed ones, and the time left."""
        return self._connection.get(self._at("progress/"))

    # Rows --------------------------------------------------------------------------------------

    def scenarios(self) -> Rows:
        """Return the scenarios (combinations of task, shots and split) with their seats."""
        return self._rows("scenarios/")

    def participations(self, **filters: str) -> Rows:
        """Return the annotators and their progress. Filters are `kind`, `status` and `task`."""
        return self._rows("participations/", **filters)

    def answers(self, **filters: str) -> Rows:
        """Return one row per example shown, as in answers.csv."""
        return self._rows("answers/", **filters)

    def spans(self, **filters: str) -> Rows:
        """Return one row per highlighted span."""
        return self._rows("spans/", **filters)

    def decisions(self) -> Rows:
        """Return all decisions with their reasons."""
        return self._rows("decisions/")

    def events(self) -> Rows:
        """Return the study's audit log."""
        return self._rows("events/")

    # Tables ------------------------------------------------------------------------------------

    def human_performance(self) -> Rows:
        """Return the human-performance table, in which each kind of annotators has its own rows."""
        return self._rows("human-performance/")

    def training(self) -> Rows:
        """Return scores in the training step, by block of examples."""
        return self._rows("training/")

    def analysis(self) -> list[Record]:
        """Return intervals, agreement, aggregates and so on, for each kind of annotators."""
        return self._connection.get(self._at("analysis/"))

    def figure(self, name: str) -> Any:
        """Return the data of the figure shots, models, learning or drift."""
        return self._connection.get(self._at(f"figures/{name}/"))

    def joint_table(self) -> Rows:
        """Return scores of annotators, uploaded models and published figures, by task and shots.

        In the study's own rows, `kind` is person, simulated or model.
        """
        return Rows(self._joint)

    def _joint(self) -> Iterator[Record]:
        parts = self._connection.get(self._at("models/"))
        # Every part repeats the uploaded models and published figures, so yield these only once.
        seated = {
            row["name"]
            for part in parts
            for row in part["scores"]
            if part["kind"] == "model" and row["source"] == "study"
        }
        yielded: set[tuple[Any, ...]] = set()
        for part in parts:
            for row in part["scores"]:
                of_study = "model" if row["name"] in seated else part["kind"]
                kind = of_study if row["source"] == "study" else row["source"]
                key = (kind, row["name"], row["task"], row["shots"], row["recipe"])
                if key not in yielded:
                    yielded.add(key)
                    yield {"kind": kind, **row}

    # Files -------------------------------------------------------------------------------------

    def export(self, target: Path | str, *, progress: bool = True) -> Path:
        """Download all CSV files and verify.py to a new folder, or to a file NAME.zip."""
        target = Path(target)
        if target.suffix == ".zip":
            return self._connection.download(self._at("export.zip"), target, progress=progress)
        if target.exists():
            raise HandfulError(f"{target} already exists. Choose a new folder.")
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as parent:
            archive = Path(parent) / "export.zip"
            self._connection.download(self._at("export.zip"), archive, progress=progress)
            with zipfile.ZipFile(archive) as packed:
                packed.extractall(Path(parent) / "out")
            (folder,) = (Path(parent) / "out").iterdir()
            shutil.move(folder, target)
        return target

    def _move(self, move: str) -> "Study":
        self.data = self._connection.post(self._at(f"{move}/"), {})
        return self

    def _rows(self, part: str, **params: Any) -> Rows:
        return Rows(lambda: self._connection.rows(self._at(part), **params))

    def _at(self, part: str) -> str:
        return f"studies/{self.name}/{part}"


class Studies:
    """The studies that the owner of the token can see."""

    def __init__(self, connection: Connection, jobs: Jobs):
        self._connection, self._jobs = connection, jobs

    def list(self, status: str | None = None) -> Rows:
        """Return the name, title, status and design of each study."""
        return Rows(lambda: self._connection.rows("studies/", status=status))

    def __getitem__(self, name: str) -> Study:
        """Return a study. Raises KeyError if it does not exist or the token can't read it."""
        try:
            data = self._connection.get(f"studies/{quote(name, safe='')}/")
            return Study(self._connection, self._jobs, data)
        except ApiError as error:
            if error.status == 404:
                raise KeyError(f"No study {name!r} is visible to this token.") from None
            raise

    def create(self, design: Design) -> Study:
        """Create a draft from a design: a mapping, the path of a TOML file, or TOML text.

        Raises ApiError with `fields` for each invalid key, in which case nothing is stored.
        """
        data = self._connection.post("studies/", read_design(design))
        return Study(self._connection, self._jobs, data)

    def validate(self, design: Design) -> Record:
        """Check a design without storing it. Returns `valid`, `problems` and `doubts`."""
        body = read_design(design)
        return self._connection.post("studies/", body, params={"validate": "true"})


def read_design(design: Design) -> Record:
    """Return the keys of a design. Raises HandfulError for invalid TOML."""
    if isinstance(design, Mapping):
        return dict(design)
    is_file = isinstance(design, Path) or "\n" not in design
    try:
        text = Path(design).read_text(encoding="utf-8-sig") if is_file else str(design)
        return tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise HandfulError(f"{design if is_file else 'the design'}: {error}") from None
