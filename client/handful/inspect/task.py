"""The Inspect task: `inspect eval handful/participate -T server=... -T study=... --model ...`.

Each sample is one model in one seat: one replicate of one scenario. The researcher's token (with
the run scope) comes from HANDFUL_TOKEN or `handful login`. It is not an argument, because Inspect
logs arguments.
"""

import json
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentText,
    Model,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.model._generate_config import active_generate_config
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from handful.client import Client, stored_login
from handful.connection import HandfulError
from handful.inspect.conversation import Declared, Message
from handful.inspect.participate import Reply, Run, Seat

ATTEMPTS = 5  # for replies in invalid JSON, which Inspect doesn't retry
ROLES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


@task
def participate(
    study: str,
    server: str = "",
    examples: str = "answered",
    context: str = "each",
    retries: int = 2,
    replicates: int = 1,
    revision: str = "",
    tasks: str = "",
    shots: str = "",
    notes: str = "",
    images: str = "alt",
) -> Task:
    """Let a model take part in each scenario of a study.

    `examples`, `context`, `retries` and `images` are the declared options (conversation.Declared).
    `tasks` and `shots` (comma-separated) select scenarios. `notes` is the folder in which a run
    stores its usage, so that it can be resumed.
    """
    declared = Declared(examples, context, int(retries), images)
    code, places = scenarios(server or None, study, _listed(tasks), _listed(shots))
    samples = [
        Sample(
            id=f"{place['task']}-{place['shots']}-{place['split'] or 0}-{replicate}",
            input=f"Take part in {study}: {place['task']}, {place['shots']} shots.",
            metadata={"scenario": place, "replicate": replicate, "code": code},
        )
        for place in places
        for replicate in range(1, int(replicates) + 1)
    ]
    if not samples:
        raise HandfulError(f"{study} has no scenario with these tasks, shots and replicates.")
    return Task(
        dataset=MemoryDataset(samples, name=f"handful-{study}"),
        solver=take_part(server or None, declared, revision, notes),
        scorer=invalid_rate(),
        fail_on_error=False,  # one failing seat does not stop the others
        metadata={"prompt_hash": declared.hash, "study": study},
    )


def _listed(text: Any) -> list[str]:
    """Split comma-separated text. Inspect may pass a list, or a single value of any type."""
    parts = text if isinstance(text, list | tuple) else str(text).split(",")
    return [str(part).strip() for part in parts if str(part).strip()]


def scenarios(
    server: str | None, study: str, tasks: Sequence[str] = (), shots: Sequence[str] = ()
) -> tuple[str, list[dict[str, Any]]]:
    """Return the link code, and the scenarios with these tasks and shots. Raises HandfulError."""
    with Client(server) as client:
        selected = client.studies[study]
        places = [
            {
                "task": row["task"],
                "shots": int(row["shots"]),
                "split": int(row["split"]) if row["split"] else None,
                "arm": row.get("arm") or "",
            }
            for row in selected.scenarios()
            if (not tasks or row["task"] in tasks) and (not shots or str(row["shots"]) in shots)
        ]
        code = urlsplit(selected.link).path.rstrip("/").rpartition("/")[2]
    return code, places


@solver
def take_part(server: str | None, declared: Declared, revision: str, notes: str) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        model = get_model()
        model_info = {
            "name": str(model), "revision": revision, "prompt_hash": declared.hash,
        }  # fmt: skip
        researcher = Seat(*stored_login(server, None))
        # The same model and replicate get the same participation, so that runs can be resumed.
        seat = {name: state.metadata[name] for name in ("scenario", "replicate")}
        body = {"kind": "model", "model": model_info, **seat}
        joined = await researcher.post(f"join/{state.metadata['code']}/", body)
        researcher.close()
        own_seat = Seat(researcher.connection.server, joined["token"])
        folder = Path(notes or ".handful")
        player = InspectModel(model)
        run = Run(own_seat, player.ask, declared, folder / f"{joined['participation']}.json")
        try:
            last = await run.to_the_end()
            if last["step"] == "finished" or last.get("status") == "screened_out":
                await run.finish(**player.settings())
        finally:
            own_seat.close()
        state.metadata |= {
            "participation": joined["participation"], "step": last["step"],
            "answers": run.facts.answers, "invalid": run.facts.invalid,
        }  # fmt: skip
        state.messages = player.latest
        state.output = ModelOutput.from_content(str(model), f"{last['step']}")
        state.completed = True
        return state

    return solve


class InspectModel:
    """The model as called by `Run`, with the latest conversation for the log."""

    def __init__(self, model: Model):
        self.model = model
        self.latest: list[ChatMessage] = []

    async def ask(self, conversation: list[Message]) -> Reply:
        """Return one reply. Inspect retries provider errors; any other error ends the sample.

        Truncated replies, which are invalid JSON, are requested again.
        """
        messages = [ROLES[message["role"]](content=_content(message)) for message in conversation]
        for attempt in range(1, ATTEMPTS + 1):
            try:
                output = await self.model.generate(messages)
                break
            except json.JSONDecodeError:
                if attempt == ATTEMPTS:
                    raise
        self.latest = [*messages, ChatMessageAssistant(content=output.completion)]
        usage = output.usage
        return Reply(
            text=output.completion,
            input_tokens=_input_tokens(usage) if usage else 0,
            output_tokens=usage.output_tokens if usage else 0,
            cost_usd=usage.total_cost if usage else None,
            refused=output.stop_reason == "content_filter",
        )

    def settings(self) -> dict[str, Any]:
        config = active_generate_config()
        return {
            "temperature": config.temperature,
            "seed": config.seed,
            "harness": f"inspect-ai {metadata.version('inspect-ai')}",
        }


def _content(message: Message) -> str | list[Content]:
    images = message.get("images", [])
    if not images:
        return message["content"]
    pictures: list[Content] = [ContentImage(image=image) for image in images]
    return [*pictures, ContentText(text=message["content"])]


def _input_tokens(usage: ModelUsage) -> int:
    """Count all input tokens, whether cached or not."""
    cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return int(usage.input_tokens + cached)


@scorer(metrics=[mean()])
def invalid_rate() -> Scorer:
    """Return a scorer for the rate of invalid answers. Only the server has the gold for S1."""

    async def score(state: TaskState, target: Target) -> Score:
        answers, invalid = state.metadata["answers"], state.metadata["invalid"]
        return Score(
            value=invalid / answers if answers else 0.0,
            explanation=f"{invalid} of {answers} answers; {state.metadata['step']}",
        )

    return score
