"""A researcher in a browser, whose every request goes to the next node."""

import re
import time
from dataclasses import dataclass, field

import requests

from benchmarks.load import CSRF

PAGES = (
    "", "people/", "pay/", "lists/", "log/", "analysis/", "figures/", "report/", "examples/",
    "training/", "behaviour/", "progress/", "design/", "sensitivity/", "latex/",
)  # fmt: skip
FILES = ("examples.csv", "training.csv", "report.md")


@dataclass
class Visit:
    pages: int = 0
    wrong: list[str] = field(default_factory=list)  # addresses, and what came back


class Researcher:
    """The owner of the annotators' study, signed in once."""

    def __init__(self, port: int) -> None:
        from annotation.models import Study

        self.base = f"http://127.0.0.1:{port}"
        self.session = requests.Session()
        self.study = Study.objects.get()
        page = self._get("/sign-in/")
        name, word = "owner", "a password of the owner"
        fields = {"login": name, "password": word, "csrfmiddlewaretoken": CSRF.search(page.text)[1]}
        self.session.post(f"{self.base}/sign-in/", data=fields, timeout=60)

    def visit_everything(self) -> Visit:
        """Each page and file of the study, and whether it came; a page that fails is asked once
        more, as somebody does."""
        visit = Visit()
        for path in PAGES + FILES:
            address = f"/studies/{self.study.name}/{path}"
            reply = self._get(address)
            if reply is None or reply.status_code >= 500:
                time.sleep(1)
                reply = self._get(address)
            visit.pages += 1
            if reply is None or reply.status_code != 200 or "/sign-in/" in reply.url:
                told = "no reply" if reply is None else f"{reply.status_code} at {reply.url}"
                visit.wrong.append(f"{path}: {told}")
        return visit

    def release(self) -> list[str]:
        """The bundle, begun on one node and continued on the other; what went wrong."""
        here = f"/studies/{self.study.name}/release"
        csrf = CSRF.search(self._get(f"{here}/").text)[1]
        posted = {"csrfmiddlewaretoken": csrf}
        page = self.session.post(f"{self.base}{here}/prepare/", data=posted, timeout=60)
        end = time.monotonic() + 180
        while time.monotonic() < end:
            run = re.search(rf"{here}/\d+/run/", page.text)
            if run is None:
                break
            page = self.session.post(f"{self.base}{run[0]}", data=posted, timeout=60)
            page = self._get(f"{here}/")
        zipped = self._get(f"/studies/{self.study.name}/release.zip")
        if zipped.status_code == 200 and zipped.content[:2] == b"PK":
            return []
        return [f"release.zip: {zipped.status_code} {zipped.url}"]

    def _get(self, path: str) -> requests.Response | None:
        try:
            return self.session.get(self.base + path, timeout=60)
        except requests.RequestException:
            return None
