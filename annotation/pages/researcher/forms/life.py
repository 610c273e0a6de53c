"""Forms of a study's life: its clone, and robots for a rehearsal."""

from django import forms

from annotation.models import Study
from annotation.pages.fields import PageForm, WholeNumberField
from annotation.simulation.robots import POLICIES


class CloneForm(PageForm):
    """The name of the clone; left empty, one that is free."""

    key = "clone"
    name = forms.CharField(
        required=False,
        max_length=60,
        help_text=Study._meta.get_field("name").help_text,
    )
    rehearsal = forms.BooleanField(required=False)


class RobotsForm(PageForm):
    """How the robots answer, how many there are, and the seed of their chance."""

    key = "robots"
    policy = forms.CharField(
        max_length=40,
        initial="noisy:0.8",
        help_text=f"One of {', '.join(POLICIES)}; noisy:0.8 is right with probability 0.8.",
    )
    number = WholeNumberField(
        required=False,
        min_value=0,
        max_value=1000,
        label="How many",
        help_text="Empty: as many as there are free seats; 0: those alone who were admitted.",
    )
    seed = WholeNumberField(
        required=False,
        min_value=0,
        max_value=2**53,
        initial=0,
        help_text="The same seed gives the same answers.",
    )
