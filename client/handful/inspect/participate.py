"""Lets a model take part in a study, from the consent text to the end.

The server decides which step comes next. Prompts are rebuilt from its record (GET work/history/),
so that a run can be resumed after a crash without answering anything twice. Requests can safely be
repeated, because the server counts a join, answer or Continue that arrives twice only once.
"""

import base64
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread

from handful.connection import ApiError, Connection, Record
from handful.inspect import conversation
from handful.inspect.conversation import Declared, Message, State


class Seat:
    """The API of a server, with the token of a seat or, for joining, of a researcher."""

    def __init__(self, server: str, token: str):
        self.connection = Connection(server, token)

    async def get(self, address: str) -> Record:
        return await to_thread.run_sync(partial(self.connection.get, address))

    async def post(self, address: str, body: Mapping[str, Any]) -> Record:
        ask = partial(self.connection.post, address, dict(body), again=True)
        return await to_thread.run_sync(ask)

    async def image(self, address: str) -> str:
        url = f"{self.connection.server}{address}"
        reply = await to_thread.run_sync(partial(self.connection.send, "GET", url))
        data = base64.b64encode(reply.content).decode()
        return f"data:{reply.headers['Content-Type']};base64,{data}"

    def close(self) -> None:
        self.connection.close()


WAIT = 5.0  # seconds between requests while waiting for a decision
ENDS = ("finished", "gone", "between", "declined")


@dataclass(frozen=True)
class Reply:
    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    refused: bool = False


Ask = Callable[[list[Message]], Awaitable[Reply]]


@dataclass
class Facts:
    """What a run has used so far. It is stored in a file, so that a resumed run can add to it."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    answers: int = 0
    invalid: int = 0
    refusals: int = 0
    seconds: float = 0.0

    @classmethod
    def load(cls, path: Path) -> "Facts":
        return cls(**json.loads(path.read_text())) if path.exists() else cls()

    def save(self, path: Path) -> None:
        """Write the file atomically, so that a crash leaves either the old or the new file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(asdict(self)))
        part.replace(path)

    def add(self, reply: Reply, seconds: float) -> None:
        self.input_tokens += reply.input_tokens
        self.output_tokens += reply.output_tokens
        if reply.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + reply.cost_usd
        self.refusals += reply.refused
        self.seconds += seconds


class Run:
    def __init__(self, seat: Seat, ask: Ask, declared: Declared, notes: Path):
        self.seat, self.ask, self.declared, self.notes = seat, ask, declared, notes
        self.facts = Facts.load(notes)
        self.lead: State | None = None
        self.history: list[State] = []
        self.images: dict[str, str] = {}  # data URLs, by URL

    async def to_the_end(self) -> State:
        """Take part until there are no more steps. Return the last state. Raises ApiError."""
        state: State = await self.seat.get("work/")
        record = await self.seat.get("work/history/")
        self.lead, self.history = record["lead"], record["answered"]
        while state["step"] not in ENDS:
            state = await self._step(state)
        return state

    async def finish(self, **report: Any) -> None:
        """Report on the run to the server, which stores only the first report."""
        facts = asdict(self.facts)
        if facts["cost_usd"] is not None:
            facts["cost_usd"] = f"{facts['cost_usd']:.6f}"
        declared = asdict(self.declared)
        del declared["images"]  # the template states it
        template = self.declared.template
        await self.seat.post("work/finish/", {"template": template, **declared, **facts, **report})

    async def _step(self, state: State) -> State:
        step = state["step"]
        if step == "consent":
            return await self.seat.post("work/consent/", {"agree": True})
        if step == "comprehension":
            return await self._comprehend(state)
        if step == "instructions":
            self.lead = state
            if state["leads_to"] == "begin":
                return await self.seat.post("work/begin/", {})
            return await self.seat.post("work/continue/", {"leaving": step})
        if step == "question":
            return await self._answer(state)
        if step == "confidence":
            return await self._rate(state)
        if step == "reveal":
            self._keep(state)
        if step in ("reveal", "review"):
            return await self.seat.post("work/continue/", {"leaving": step})
        if step == "waiting":
            await anyio.sleep(WAIT)
            return await self.seat.post("work/wait/", {})
        raise ValueError(f"unknown step {step!r}. Upgrade handful to match the server.")

    def _keep(self, state: State) -> None:
        turns = [past["question"]["turn"] for past in self.history]
        if state["question"]["turn"] not in turns:
            self.history.append(state)

    async def _comprehend(self, state: State) -> State:
        """Answer the questions about the instructions once. The server counts attempts."""
        self.lead = state
        prompt = conversation.comprehension(state["questions"])
        messages: list[Message] = [
            Message(role="system", content=conversation.system(state)),
            Message(role="user", content=prompt),
        ]
        reply = await self._reply_to(messages)
        try:
            places = json.loads(conversation.given_text(reply.text))
            answers = [int(place) - 1 for place in places]
        except (ValueError, TypeError):
            answers = [0] * len(state["questions"])
        answers = [max(0, place) for place in answers][: len(state["questions"])]
        answers += [0] * (len(state["questions"]) - len(answers))
        try:
            return await self.seat.post("work/comprehension/", {"answers": answers})
        except ApiError as refused:
            if refused.state is None:
                raise
            return refused.state

    async def _answer(self, state: State) -> State:
        """Ask the model until its output is valid or no declared retries are left."""
        example = state["question"]
        if self.declared.examples == "shown" and example["step"] == "training":
            return await self._store(state, {"gives_up": True})
        messages = conversation.messages(self._lead(state), self.history, state, self.declared)
        self.facts.answers += 1
        for _attempt in range(1 + self.declared.retries):
            reply = await self._reply_to(messages)
            try:
                answer = conversation.parse(state["task"], example, reply.text)
                return await self._store(state, answer)
            except conversation.Invalid as invalid:
                problem = str(invalid)
            except ApiError as refused:
                if refused.status != 422:
                    raise
                problem = refused.detail
            retry = conversation.RETRY.substitute(
                why=problem, format=conversation.answer_format(state["task"])
            )
            messages = [
                *messages,
                Message(role="assistant", content=reply.text or "…"),
                Message(role="user", content=retry),
            ]
        self.facts.invalid += 1
        return await self._store(state, {"gives_up": True})

    async def _rate(self, state: State) -> State:
        """Ask once how confident the model is. If the reply is invalid, skip the question."""
        example, given = state["question"], state["answer"]
        level = ""
        # If training examples were shown with their gold answers, the model has not answered them.
        if self.declared.examples != "shown" or example["step"] != "training":
            past = [turn for turn in self.history if turn["question"]["turn"] != example["turn"]]
            kind = state["task"]["answer"]["kind"]
            messages = conversation.messages(self._lead(state), past, state, self.declared)
            line = conversation.answer_line(kind, example, given["texts"])
            messages.append(Message(role="assistant", content=line))
            messages.append(Message(role="user", content=conversation.CONFIDENCE))
            reply = await self._reply_to(messages)
            with suppress(conversation.Invalid):
                level = conversation.given_text(reply.text)[:1]
        body = {"turn": example["turn"], "confidence": int(level) if level in [*"12345"] else None}
        following = await self.seat.post("work/confidence/", body)
        self.history = (await self.seat.get("work/history/"))["answered"]
        self.facts.save(self.notes)
        return following

    async def _store(self, state: State, answer: dict[str, Any]) -> State:
        """Send the answer. If an answer was stored before a crash, that one counts."""
        body = {"turn": state["question"]["turn"], "answer": answer}
        try:
            following = await self.seat.post("work/answer/", body)
        except ApiError as refused:
            if refused.status != 409 or refused.state is None:
                raise
            following = refused.state
        if following["step"] not in ("reveal", "confidence") and self.declared.context == "all":
            # Use the answer in the server's record, as a resumed run would.
            self.history = (await self.seat.get("work/history/"))["answered"]
        self.facts.save(self.notes)
        return following

    async def _reply_to(self, messages: Sequence[Message]) -> Reply:
        started = time.monotonic()
        for address in {address for message in messages for address in message.get("images", ())}:
            if address not in self.images:
                self.images[address] = await self.seat.image(address)
        reply = await self.ask([self._with_images(message) for message in messages])
        self.facts.add(reply, time.monotonic() - started)
        return reply

    def _with_images(self, message: Message) -> Message:
        if "images" not in message:
            return message
        return {**message, "images": [self.images[address] for address in message["images"]]}

    def _lead(self, state: State) -> State:
        if self.lead is None or self.lead["task"]["title"] != state["task"]["title"]:
            return state
        return self.lead
