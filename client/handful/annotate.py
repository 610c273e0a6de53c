"""`handful annotate`: a model takes part in a study, through Inspect AI."""

import argparse
from typing import Any

DESCRIPTION = (
    "A language model takes a seat in each scenario of an open study, by the steps of people."
    " Needs Inspect AI (pip install inspect-ai)."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `handful annotate`."""
    parser.add_argument("--study", required=True, help="name of the study, which is open")
    parser.add_argument(
        "--model", required=True, help="as Inspect names it: openai/..., vllm/..., mockllm/model"
    )
    parser.add_argument("--server", default="", help="that of `handful login` unless given")
    parser.add_argument("--examples", choices=["answered", "shown"], default="answered")
    parser.add_argument("--context", choices=["each", "all"], default="each")
    parser.add_argument("--retries", type=int, default=2, help="for an invalid output")
    parser.add_argument("--replicates", type=int, default=1)
    parser.add_argument("--revision", default="", help="of the model, for its record")
    parser.add_argument("--tasks", default="", help="only these, with commas between")
    parser.add_argument("--shots", default="", help="only these, with commas between")
    parser.add_argument("--temperature", type=float)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--base-url", help="of a server that speaks the model's protocol")
    parser.add_argument("--log-dir", default="logs", help="of Inspect's logs")
    parser.add_argument("--notes", default=".handful", help="what a resumed run goes on from")


def run(args: argparse.Namespace, **model_args: Any) -> int:
    """Run it; 0 where every scenario came to its end."""
    from inspect_ai import eval as evaluate

    from handful.inspect.task import participate

    options = ("study", "server", "examples", "context", "retries", "replicates", "revision",
               "tasks", "shots", "notes")  # fmt: skip
    logs = evaluate(
        participate(**{name: getattr(args, name) for name in options}),
        model=args.model,
        model_base_url=args.base_url,
        model_args=model_args,
        temperature=args.temperature,
        seed=args.seed,
        log_dir=args.log_dir,
        display="plain",
    )
    samples = logs[0].samples or []
    for sample in samples:
        told = sample.metadata
        if sample.error:
            print(f"{sample.id}: {sample.error.message}; run it again to go on")
        else:
            print(f"{sample.id}: {told['step']}, {told['invalid']} of {told['answers']} invalid")
    is_done = logs[0].status == "success" and not any(sample.error for sample in samples)
    return 0 if samples and is_done else 1
