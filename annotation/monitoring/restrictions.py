"""Who may take part in a study, besides everybody who has not seen its tasks: for its overview."""

from annotation.models import Qualification, Study


def in_force(study: Study) -> list[str]:
    """What keeps people out now, by the design and by what was set since; [] where nothing does."""
    sentences = [str(rule) for rule in study.access_rules.filter(ended_at=None)]
    if not study.open_link_on:
        sentences.append("the open link is off: only personal links and platforms lead here")
    if study.computer_only:
        sentences.append("computers only, no phones")
    if study.comprehension_questions.strip():
        attempts = study.comprehension_attempts
        sentences.append(f"questions about the instructions, right within {attempts} attempts")
    if study.qualification != Qualification.NONE:
        threshold = study.qualification_threshold
        told = "" if threshold is None else f" ({threshold:g})"
        sentences.append(f"after the training step: {study.get_qualification_display()}{told}")
    return sentences
