"""Researchers can share the open link as text, as a QR code, or in a translated invitation."""

import lxml.html
import pytest
from django.urls import reverse

from annotation.templatetags.frame import qr
from tests import factories


@pytest.mark.long
@pytest.mark.parametrize(
    ("language", "words"), [("en", "You are invited to take part"), ("de", "Sie sind eingeladen")]
)
def test_the_link_is_shared_in_the_language_of_the_study(ada, researcher, language, words):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[2], interface_language=language, title="A & B"
    )
    reply = ada.get(reverse("recruit", args=[study.name]))
    page = lxml.html.fromstring(reply.content.decode())
    link = f"http://testserver/join/{study.link_code}/"
    assert page.get_element_by_id("study-link").value == link
    text = page.get_element_by_id("study-invitation").value
    assert text.startswith(words)
    assert "A & B" in text
    assert link in text
    (picture,) = page.xpath('//svg[@class="qr"]')
    assert picture.getparent().tag == "details"
    assert page.get("lang") == "en"


def test_a_disabled_link_is_not_shared(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2], open_link_on=False)
    page = ada.get(reverse("recruit", args=[study.name])).content.decode()
    assert "study-invitation" not in page
    assert 'class="qr"' not in page


def test_a_qr_code_depends_on_its_text():
    assert qr("https://a.example/1") == qr("https://a.example/1")
    assert qr("https://a.example/1") != qr("https://a.example/2")
