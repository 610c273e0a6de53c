"""One command goes from the Gym's files through simulated annotators to the ARG table."""

import io
import re

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import Kind, Participation, Study
from tasks.gym import catalogue
from tests.tasks.test_gym import GYM


@pytest.mark.long
@pytest.mark.real_data
@pytest.mark.timeout(400)
def test_simulated_transfer_goes_from_import_to_the_table(db):
    out = io.StringIO()
    call_command(
        "replicate_crossfit", str(GYM), unseen=2, upstream=2, examples=2, test=5, annotators=1,
        policy="transfer:0.5:0.9", seed=1, processes=1, verbosity=0, stdout=out,
    )  # fmt: skip
    study = Study.objects.get(name="crossfit")
    done = Participation.objects.filter(study=study, status="completed", kind=Kind.SIMULATED)
    assert done.count() == study.scenarios.count() == 2 * 3
    told = out.getvalue()
    assert re.search(r"\| all tasks \| [^|]+ \| 16 \| upstream \| sham \| transfer \|", told)
    models = [row for row in told.splitlines() if "models, as published" in row]
    parts = [[part.strip() for part in row.split("|")] for row in models]
    assert [[row[1], row[4], row[6]] for row in parts] == [
        ["test tasks of train_non_nli_test_nli", way, "models, as published"]
        for way in ("multi-task learning", "MAML")
    ]
    assert ["+16.9 %" in models[0], "+12.3 %" in models[1]] == [True, True]


@pytest.mark.long
@pytest.mark.real_data
@pytest.mark.timeout(400)
@pytest.mark.parametrize("partition", sorted(catalogue.partitions()))
def test_every_partition_runs_with_the_real_tasks_it_has(ada, db, partition):
    call_command(
        "replicate_crossfit", str(GYM), partition=partition, unseen=1, upstream=2, examples=2,
        test=4, annotators=1, policy="gold", seed=1, processes=1, verbosity=0, stdout=io.StringIO(),
    )  # fmt: skip
    study = Study.objects.get(name="crossfit")
    done = Participation.objects.filter(study=study, status="completed", kind=Kind.SIMULATED)
    assert done.count() == study.scenarios.count() == 3
    study.owner = get_user_model().objects.get(username="ada")
    study.save(update_fields=["owner"])
    published = catalogue.partitions()[partition]
    used = f"Of the partition {partition}, 1 of {len(published.held_out)} held-out and 2 of"
    for page in ("analysis", "human_performance", "preregistration"):
        shown = ada.get(reverse(page, args=[study.name]), follow=True).content.decode()
        assert used in " ".join(shown.split()), page


def test_a_folder_with_too_few_tasks_of_a_partition_is_refused(db, tmp_path):
    with pytest.raises(CommandError, match="too few tasks of train_non_nli_test_nli"):
        call_command("replicate_crossfit", str(tmp_path))
