"""`handful fake-model`: a server that speaks the OpenAI chat protocol and knows the gold.

For tests and rehearsals without a provider: it is right with a stated probability, and makes the
faults of real ones (an output in no format, 429, a reply that never comes, truncated JSON). What it
answers is drawn from its seed and the conversation alone. Standard library only.
"""

import argparse
import hashlib
import json
import random
import re
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

DESCRIPTION = "A local model for rehearsals: it speaks the OpenAI chat protocol and knows the gold."
OPTION = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Known:
    """An example and its gold."""

    context: tuple[str, ...]
    question: str
    gold: tuple[str, ...]


@dataclass(frozen=True)
class Faults:
    """How often it errs: each the probability at one request."""

    right: float = 1.0
    wrong_format: float = 0.0
    rate_limit: float = 0.0
    hang: float = 0.0
    truncated: float = 0.0
    hang_seconds: float = 30.0


def read_examples(paths: Iterable[Path]) -> list[Known]:
    """Examples of JSON Lines files in the layout of CLUES: context, question, answer.

    Raises OSError and ValueError for what is no such file.
    """
    known = []
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            context, answer = row["context"], row["answer"]
            listed = answer if isinstance(answer, list) else [answer]
            gold = [one["text"] if isinstance(one, dict) else one for one in listed]
            known.append(
                Known(
                    tuple([context] if isinstance(context, str) else context),
                    row["question"],
                    tuple(text for text in gold if text),
                )
            )
    return known


@dataclass
class FakeModel:
    """What it says to a conversation."""

    known: Sequence[Known]
    faults: Faults = field(default_factory=Faults)
    seed: int = 0
    requests: int = 0

    def draw(self) -> random.Random:
        """For the faults on the way: a request that is sent again is another one."""
        self.requests += 1
        return random.Random(f"{self.seed}:{self.requests}")

    def reply(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The content of its reply; the same to the same question, whoever asks when."""
        system, last = messages[0]["content"], messages[-1]["content"]
        if "questions about the instructions" in last:
            return "Answer: [1]"
        asked = [one["content"] for one in messages if "Question:" in one["content"]][-1]
        rng = random.Random(f"{self.seed}:{asked}:{last}")
        if rng.random() < self.faults.wrong_format:
            return "I am not sure what you mean."
        known = self.lookup(asked)
        gold = list(known.gold) if known else []
        if known and rng.random() >= self.faults.right:
            gold = self._other(known)
        return f"Answer: {written(system, asked, gold)}"

    def lookup(self, asked: str) -> Known | None:
        """The example whose texts stand in the message; that of the same question first."""
        standing = [one for one in self.known if all(text in asked for text in one.context)]
        return max(
            standing,
            key=lambda one: (one.question in asked, sum(map(len, one.context))),
            default=None,
        )

    def _other(self, known: Known) -> list[str]:
        """The gold of an example whose gold is another one."""
        others = [one.gold for one in self.known if one.gold and one.gold != known.gold]
        standing = [gold for gold in others if all(text in known.context[0] for text in gold)]
        return list((standing or others or [()])[0])


def written(system: str, asked: str, gold: Sequence[str]) -> str:
    """Gold in the format that the instructions ask for."""
    if not gold:
        return "null"
    how = system.rpartition("How to answer")[2]
    options = {text: int(number) for number, text in OPTION.findall(asked)}
    if "name of one label" in how or "plain digits" in how:
        return gold[0]
    if "numbers of all options" in how:
        return json.dumps([options[text] for text in gold if text in options])
    if "number of one option" in how:
        return str(options.get(gold[0], 1))
    if "JSON list of texts" in how:
        return json.dumps(list(gold), ensure_ascii=False)
    return json.dumps(gold[0], ensure_ascii=False)


def completion(model: str, content: str, prompt: str) -> dict[str, Any]:
    """A reply of the chat protocol; tokens are words."""
    usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": len(content.split())}
    return {
        "id": f"chatcmpl-{hashlib.sha256((prompt + content).encode()).hexdigest()[:12]}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content},
                "finish_reason": "stop",
            }
        ],
        "usage": usage | {"total_tokens": sum(usage.values())},
    }


def serve(fake: FakeModel, port: int = 0, host: str = "127.0.0.1") -> ThreadingHTTPServer:
    """A server that runs in a thread of its own; its port in `server_address`. Close it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body are sent apart: without this the body waits 40 ms for the other side's word.
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            rng = fake.draw()
            if rng.random() < fake.faults.rate_limit:
                self._send(429, b'{"error": {"message": "slow down"}}', {"Retry-After": "0"})
                return
            if rng.random() < fake.faults.hang:
                time.sleep(fake.faults.hang_seconds)
                self.close_connection = True
                return
            content = fake.reply(body["messages"])
            prompt = " ".join(str(one["content"]) for one in body["messages"])
            whole = json.dumps(completion(body.get("model", "fake"), content, prompt)).encode()
            if rng.random() < fake.faults.truncated:
                whole = whole[: len(whole) // 2]
            self._send(200, whole)

        def _send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is logged: a conversation holds texts of a study."""

    server = ThreadingHTTPServer((host, port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `handful fake-model`."""
    parser.add_argument(
        "files", nargs="+", type=Path, help="JSON Lines with context, question, answer"
    )
    parser.add_argument("--port", type=int, default=8009)
    parser.add_argument("--seed", type=int, default=0)
    for name, words in {
        "right": "probability of the right answer", "wrong-format": "of an output in no format",
        "rate-limit": "of a 429", "hang": "of a reply that never comes",
        "truncated": "of half a reply",
    }.items():  # fmt: skip
        default = 1.0 if name == "right" else 0.0
        parser.add_argument(f"--{name}", type=float, default=default, help=words)


def run(args: argparse.Namespace) -> int:
    """Serve until it is interrupted."""
    faults = Faults(args.right, args.wrong_format, args.rate_limit, args.hang, args.truncated)
    server = serve(FakeModel(read_examples(args.files), faults, args.seed), args.port)
    print(f"http://127.0.0.1:{server.server_address[1]}/v1: stop with Ctrl-C")
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        server.shutdown()
    return 0
