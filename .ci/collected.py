"""Collect the static files into the wheel, so that the first start need not compress them."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Collected(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self.folder = TemporaryDirectory()
        places = {
            name: str(Path(self.folder.name, name)) for name in ("HANDFUL_VAR", "STATIC_ROOT")
        }
        subprocess.run(
            [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity=0"],
            cwd=self.root, env=os.environ | places, check=True,
        )  # fmt: skip
        build_data["force_include"][places["STATIC_ROOT"]] = (
            "staticfiles"  # relative to handful_server, like all paths
        )

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self.folder.cleanup()
