"""A server process that serves only annotators loads neither numpy nor pandas."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {"numpy", "pandas"}
# In one server process: a participation from invitation to end, then a researcher's page.
SERVED = """
import io, json, sys
from config.wsgi import application
from django.core.management import call_command
from django.contrib.auth import get_user_model
from django.test import Client

def loaded():
    return sorted({name.partition(".")[0] for name in sys.modules})

call_command("migrate", verbosity=0)
owner = get_user_model().objects.create_user("ada")
call_command("import_task", "tasks/demo/sentiment", owner="ada", stdout=io.StringIO())
call_command(
    "create_study", "pilot", tasks=["demo-sentiment"], shots=[10], annotators=1, owner="ada",
    estimated_minutes=10, open=True, rehearsal=True, seed=1, stdout=io.StringIO(),
)
call_command(
    "simulate_workers", "pilot", policy="noisy:0.8", seed=1, processes=1, stdout=io.StringIO()
)
from annotation.models import Participation
states = [one.status for one in Participation.objects.all()]
before = loaded()
ada = Client(HTTP_HOST="localhost")
ada.force_login(owner)
page = ada.get("/studies/pilot/human-performance/")
after = loaded()
from analysis.stats import power, significance, uncertainty
report = ada.get("/studies/pilot/report/")
significance.fisher((3, 1), (3, 4))
power.sd_range(1, 3)
significance.welch([1, 2], [2, 4])
uncertainty.wilson(3, 4)
print(json.dumps([states, before, page.status_code, after, "scipy" in sys.modules]))
"""


@pytest.mark.long
def test_a_whole_participation_loads_no_heavy_library(tmp_path):
    (tmp_path / "var").mkdir(mode=0o700)
    own = {"HANDFUL_VAR": str(tmp_path / "var"), "STATIC_ROOT": str(tmp_path / "static")}
    environment = {k: v for k, v in os.environ.items() if k != "DATABASE_URL"} | own
    environment["DJANGO_SETTINGS_MODULE"] = "config.settings"
    done = subprocess.run(
        [sys.executable, "-c", SERVED], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    states, before, status, after, has_scipy = json.loads(done.stdout)
    assert states == ["completed"]
    assert HEAVY & set(before) == set()
    assert {"qrcode", "PIL"} & set(before) == set()  # only researchers' pages need them
    # Control: the same process loads them for a table.
    assert status == 200
    assert HEAVY & set(after) >= {"numpy", "pandas"}
    # Servers don't install it.
    assert not has_scipy


def test_products_of_matrices_start_no_threads():
    product = (
        "import os; from analysis.heavy import np; np.ones((300, 300)) @ np.ones((300, 300));"
        " print(len(os.listdir('/proc/self/task')))"
    )
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", product], cwd=ROOT, env=environment,
                          capture_output=True, text=True)  # fmt: skip
    assert done.stdout == "1\n", done.stderr
