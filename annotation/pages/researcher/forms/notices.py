"""What a researcher wants to be told of a study."""

from django import forms

from annotation.models import NoticeAbout, NoticeSwitch
from annotation.pages.fields import PageForm


class SwitchForm(PageForm):
    """Ticked: told. What is not ticked is switched off."""

    key = "notices"
    page = forms.MultipleChoiceField(
        label="Show here",
        choices=NoticeAbout.choices,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    mail = forms.MultipleChoiceField(
        label="Send by mail",
        choices=NoticeAbout.choices,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    @classmethod
    def of(cls, switch: NoticeSwitch) -> "SwitchForm":
        """The form as it is stored."""
        on = {
            name: [about for about in NoticeAbout.values if about not in off]
            for name, off in (("page", switch.page_off), ("mail", switch.mail_off))
        }
        return cls(initial=on)

    def off(self) -> dict[str, list[str]]:
        """What is switched off, by field of the row."""
        sent = self.cleaned_data
        return {
            f"{name}_off": [about for about in NoticeAbout.values if about not in sent[name]]
            for name in ("page", "mail")
        }
