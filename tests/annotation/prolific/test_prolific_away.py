"""If Prolific is down, pages and the API say so plainly, and only the log has details."""

import socket
import threading

import pytest
from django.test import Client
from django.urls import reverse

from annotation.prolific import client as prolific_client
from annotation.prolific import drafts
from annotation.prolific.client import ProlificError
from tests import factories
from tests.prolific_double.site import Server


def test_an_unreachable_prolific_is_reported_on_page_and_api(
    fake, study, researcher, payer, settings
):
    (draft,) = drafts.plan(study, 0, researcher)
    settings.PROLIFIC_URL = "http://127.0.0.1:9"
    page = payer.post(
        reverse("prolific_study", args=[study.name, draft.pk]), factories.publishing(draft)
    )
    asked = payer.get(reverse("platforms", args=[study.name]), {"ask": "prolific"}, follow=True)
    program = Client(headers=factories.bearer(researcher, "run", "pay")).post(
        reverse("api_prolific_study", args=[study.name, draft.pk]), {"action": "publish"},
        content_type="application/json",
    )  # fmt: skip
    assert (page.status_code, asked.status_code, program.status_code) == (409, 200, 409)
    for reply in (page, asked, program):
        told = reply.content.decode()
        assert "Prolific could not be reached. Nothing was published or paid." in told
        assert "127.0.0.1:9" not in told
        assert "HTTPConnectionPool" not in told


def test_after_a_lost_reply_the_outcome_is_called_unknown(fake, settings):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        settings.PROLIFIC_URL = f"http://127.0.0.1:{listening.getsockname()[1]}"

        def hang_up():
            connection, _address = listening.accept()
            connection.recv(1)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        with pytest.raises(ProlificError) as lost:
            prolific_client.Client().transition("s", "PUBLISH")
        thread.join()
    assert lost.value.unreachable
    assert "Part of the request may have been" in str(lost.value)


def test_an_unexpected_reply_is_logged_and_not_shown(fake, settings, caplog):
    def maintenance(environ, start_response):
        start_response("502 Bad Gateway", [])
        return [b"<html>We are down for maintenance.</html>"]

    with Server(maintenance) as server:
        settings.PROLIFIC_URL = server.url
        with pytest.raises(ProlificError) as fault:
            prolific_client.Client().me()
    assert (
        str(fault.value) == "Prolific reported an error (status 502). Try again in a few minutes."
    )
    assert "maintenance" in caplog.text
