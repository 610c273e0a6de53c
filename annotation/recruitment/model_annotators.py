"""Who a model is: name, revision, prompt, training file and replicate, in one identity.

A model that has learned a task from one file is another annotator on another file, as its context
is new. The same model on the same file again is a replicate, which is named
(docs/protocol.md#invariants).
"""

import json
from dataclasses import dataclass

from annotation.models import ModelAnnotator, Scenario, Worker


@dataclass(frozen=True)
class Seated:
    """A model that comes for one scenario."""

    name: str
    revision: str
    prompt_hash: str
    replicate: int
    scenario: Scenario

    @property
    def identity(self) -> str:
        """What the worker's key is the hash of. The task by name: its versions are one task."""
        place = self.scenario
        split = [place.task.name, place.shots, place.split_number, place.arm]
        return json.dumps([self.name, self.revision, self.prompt_hash, split, self.replicate])

    def note(self, worker: Worker) -> None:
        """Keep with the worker what it is; a second time changes nothing."""
        place = self.scenario
        ModelAnnotator.objects.get_or_create(
            worker=worker,
            defaults={
                "name": self.name,
                "revision": self.revision,
                "prompt_hash": self.prompt_hash,
                "task_name": place.task.name,
                "shots": place.shots,
                "split_number": place.split_number,
                "arm": place.arm,
                "replicate": self.replicate,
            },
        )
