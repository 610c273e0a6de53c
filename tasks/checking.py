"""Checks of uploads, in processes with limited resources, so that they don't block the server.

An upload may be crafted to occupy a processor for hours, and since Python runs one thread at a
time, annotators would have to wait. Therefore, each check runs in a low-priority process
(tasks/check_process.py). A server process runs one check at a time, while its other threads serve
annotators.
"""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.cache import cache

from tasks.check_process import OUT_OF_MEMORY

ROOT = Path(__file__).parents[1]
SECONDS = 20  # of processor time
MEMORY = 1_000_000_000  # bytes of address space
PATIENCE = 20  # seconds for which a request waits for its turn
LIMIT = 300  # seconds of wall time, for a busy machine
# These flags exclude the environment and site-packages, which are needed only for images and to
# read datasets (openpyxl and pyarrow). Datasets also require more address space.
COMMAND = [sys.executable, "-E", "-S", "-X", "utf8", "-m", "tasks.check_process"]
OF_DATASETS = ("columns", "example", "make", "gym", "gym_make")
DATASET_MEMORY = 2_000_000_000
one_at_a_time = threading.BoundedSemaphore(1)


class TooComplex(Exception):
    """Raised if a check exceeds its limit on time or memory. The message omits the file name."""


class Busy(Exception):
    """Raised if this process or account is already checking an upload. Users should retry."""


@contextmanager
def one_of(account: int, waits: bool = False) -> Iterator[None]:
    """Allow one check per account at a time, across all server processes. Raises Busy.

    This leaves capacity for other accounts. With `waits`, Busy is raised only after PATIENCE,
    because a page's example may be in progress. A killed process's lock expires after LIMIT.
    """
    key = f"upload-check:{account}"
    deadline = time.monotonic() + (PATIENCE if waits else 0)
    while not cache.add(key, True, timeout=LIMIT):
        if time.monotonic() >= deadline:
            raise Busy("Another of your uploads is being checked. Upload this one again later.")
        time.sleep(0.1)
    try:
        yield
    finally:
        cache.delete(key)


def run(
    name: str, *, waits: bool = False, has_images: bool = False, **request: Any
) -> dict[str, Any]:
    """Run a check by name (WORK in check_process.py), and return its reply.

    Raises TooComplex, or Busy if another check is running (with `waits`, only after PATIENCE).
    """
    if not one_at_a_time.acquire(timeout=PATIENCE if waits else 0):
        raise Busy("Another upload is being checked. Upload yours again in a moment.")
    is_dataset = name in OF_DATASETS
    memory = DATASET_MEMORY if is_dataset else MEMORY
    command = [flag for flag in COMMAND if flag != "-S" or not (has_images or is_dataset)]
    try:
        process = subprocess.run(
            [*command, str(SECONDS), str(memory)],
            cwd=ROOT, input=json.dumps({"what": name, **request}).encode(), capture_output=True,
            timeout=LIMIT, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise _too_complex(memory) from None
    finally:
        one_at_a_time.release()
    if process.returncode in (OUT_OF_MEMORY, -signal.SIGXCPU, -signal.SIGKILL, -signal.SIGSEGV):
        raise _too_complex(memory)
    if process.returncode:
        raise RuntimeError(f"the check of {name} failed: {process.stderr.decode(errors='replace')}")
    return json.loads(process.stdout)


def _too_complex(memory: int) -> TooComplex:
    return TooComplex(
        f"too complex: reading it takes more than {SECONDS} s of processor time, or more than"
        f" {memory / 10**9:g} GB of memory"
    )
