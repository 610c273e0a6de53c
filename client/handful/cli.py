"""The console script `handful`."""

import argparse
import getpass
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from handful.client import Client, store_token
from handful.connection import HandfulError, Rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. If it fails, print the error and return 1."""
    args = parser().parse_args(arguments)
    try:
        return int(args.run(args) or 0)
    except (HandfulError, KeyError, OSError) as error:
        message = error.args[0] if isinstance(error, KeyError) else error
        print(f"handful: {message}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="handful", description="Handful, the human side of few-shot language benchmarks."
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    added = commands.add_parser("login", help="store an API token in a private file")
    added.add_argument("server", help="https://HOST")
    added.set_defaults(run=_login)
    added = commands.add_parser("export", help="download a study as CSV files, with verify.py")
    added.add_argument("study")
    added.add_argument("target", type=Path, help="FILE.zip, or a new folder")
    added.add_argument("--verify", action="store_true", help="run verify.py on the files")
    added.set_defaults(run=_export)
    _add_score(commands.add_parser("score", help="upload predictions and print their scores"))
    return top


def _add_score(score: argparse.ArgumentParser) -> None:
    score.add_argument("files", nargs="+", type=Path, help="TASK_10_3.jsonl, TASK_0.jsonl, ...")
    score.add_argument("--model", required=True, help="name of a new model, or of one of yours")
    score.add_argument("--task", help="task, if the file name lacks it: NAME or NAME@VERSION")
    score.add_argument("--shots", type=int)
    score.add_argument("--split", type=int)
    score.add_argument("--arm", help="arm of a cross-task study, such as upstream")
    score.set_defaults(run=_score)


def _login(args: argparse.Namespace) -> None:
    if sys.stdin.isatty():
        token = getpass.getpass("Token (create one under API tokens): ").strip()
    else:
        token = sys.stdin.readline().strip()
    if not token:
        raise HandfulError("No token was entered. Create one on the server, under API tokens.")
    with Client(args.server, token) as client:
        next(iter(client.studies.list()), None)  # fail now if the token is wrong
    print(f"Logged in to {args.server}; the token is stored in {store_token(args.server, token)}")


def _export(args: argparse.Namespace) -> int:
    with Client() as client:
        target = client.studies[args.study].export(args.target)
    print(f"{args.study}: {target}")
    if not args.verify or target.suffix == ".zip":
        return 0
    return subprocess.run([sys.executable, "-I", str(target / "verify.py")], check=False).returncode


def _score(args: argparse.Namespace) -> None:
    with Client() as client:
        model = client.models.upload(
            args.model, *args.files, task=args.task, shots=args.shots, split=args.split,
            arm=args.arm,
        )  # fmt: skip
    print(Rows(lambda: model["scores"]).as_text("task", "shots", "metric", "mean", "n", "remark"))


if __name__ == "__main__":
    sys.exit(main())
