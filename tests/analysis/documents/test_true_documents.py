"""Every sentence in the preregistration and the report is true of its study.

A sentence true of one kind of study is false of another: for each possible sentence, SENTENCES
lists which of the five studies' documents must contain it; the others must not. A sentence that
is missing from the table fails too.
"""

import re
import statistics
from collections import Counter
from collections.abc import Callable
from itertools import combinations

import pytest
from django.db.models import Count, Sum
from django.template import Engine
from django.urls import reverse

from analysis.documents import blocks, methods, preregistration, report
from analysis.documents.study_record import StudyRecord
from analysis.export import release
from analysis.scores import rendering
from analysis.scores.performance import performance
from annotation.models import Decision, Kind, LedgerEntry, Status, Study
from annotation.recruitment import consent
from tests import factories
from tests.analysis import five_studies

CLUES, CHOICE, CROSS, SEATED, PROLIFIC = five_studies.BUILDERS
ALL = tuple(five_studies.BUILDERS)
PAID = (CLUES, CHOICE, CROSS, PROLIFIC)
TWO_SHOTS = (CLUES, CHOICE, SEATED, PROLIFIC)
BY_LINK = (CLUES, CHOICE, CROSS, SEATED)
UNSCREENED = (CLUES, CROSS, SEATED, PROLIFIC)
PLAN, REPORT = "preregistration", "report"


def people(study: Study):
    return study.participations.filter(kind=Kind.PERSON)


def chose(study: Study) -> bool:
    """Return whether a study on Prolific was for only some of the scenarios."""
    drafts = study.prolific_studies.annotate(of=Count("scenarios"))
    return any(draft.of < study.scenarios.count() for draft in drafts)


def assigned(study: Study) -> bool:
    return not chose(study)


def has_excluded(study: Study) -> bool:
    return people(study).filter(status=Status.COMPLETED, in_analysis=False).exists()


def automatically_excluded(study: Study) -> bool:
    return Decision.objects.filter(
        participation__in=people(study).filter(status=Status.COMPLETED, in_analysis=False),
        about=Decision.About.ANALYSIS, by=None,
    ).exists()  # fmt: skip


def declined(study: Study) -> int:
    return sum(study.scenarios.values_list("declined", flat=True))


def has_left(study: Study) -> bool:
    """Return whether any participant declined, left, or did not stay in the analysis."""
    stayed = people(study).filter(status=Status.COMPLETED, in_analysis=True)
    return bool(declined(study)) or stayed.count() < people(study).count()


def cells(study: Study) -> Counter[tuple[str, int]]:
    """Return (task, shots) -> number of people in the analysis without upstream training."""
    rows = people(study).filter(in_analysis=True, status=Status.COMPLETED)
    rows = rows.filter(scenario__arm__in=["", "direct"])
    return Counter(rows.values_list("scenario__task__name", "scenario__shots"))


def one_pair_is_tested(study: Study) -> bool:
    """Return whether there is one pair of shots, with two or more people on each side."""
    counts = cells(study)
    tasks = {task for task, _shots in counts}
    return len(tasks) == 1 and len(counts) == 2 and min(counts.values()) > 1


Where = tuple[str, ...] | Callable[[Study], bool]
SENTENCES: list[tuple[str, str, Where]] = [
    # Frozen design, tasks
    (PLAN, "This document describes the frozen design of the study in words.", ALL),
    (PLAN, "does not depend on any answers.", ALL),
    (PLAN, "The design contains no hypotheses.", (CHOICE, CROSS, SEATED, PROLIFIC)),
    (PLAN, "Every export of the study contains the design as manifest.json", ALL),
    (PLAN, "Later changes to the study", ALL),
    (PLAN, "SST-2: Find the places", (CLUES,)),
    (PLAN, "CoNLL03: Find the places", (CLUES,)),
    (PLAN, "own-choice: Find the places", (CHOICE,)),
    (PLAN, "unseen-a: Description of unseen-a.", (CROSS,)),
    (PLAN, "unseen-b: Description of unseen-b.", (CROSS,)),
    (PLAN, "toy-labels: Find the places", (SEATED,)),
    (PLAN, "toy-spans: Find the places", (SEATED,)),
    (PLAN, "toy-places: Find the places", (PROLIFIC,)),
    # Scenarios and annotators
    (PLAN, "The design has 4 scenarios (a combination of task and number of shots) with 12 seats",
     (CLUES, SEATED)),
    (PLAN, "2 scenarios (a combination of task and number of shots) with 24 seats", (CHOICE,)),
    (PLAN, "(a combination of unseen task, arm and number of shots) with 18 seats", (CROSS,)),
    (PLAN, "2 scenarios (a combination of task and number of shots) with 4 seats", (PROLIFIC,)),
    (PLAN, "Participants are assigned on arrival to the least-filled scenario", ALL),
    (PLAN, "Participants choose their scenario on Prolific", ()),
    (PLAN, "A seat that becomes free (declined, returned,", ALL),
    (PLAN, "each participant may take part in one task of this study.", (CLUES, CHOICE, PROLIFIC)),
    (PLAN, "each participant may take part in one unseen task of this study.", (CROSS,)),
    (PLAN, "each participant may take part in up to 2 tasks of this study.", (SEATED,)),
    (PLAN, "this is enforced per browser only.", ALL),
    (PLAN, "The study is a between-subjects cross-task study", (CROSS,)),
    (PLAN, "the upstream arm completes 3 examples of each of up-one, up-two", (CROSS,)),
    (PLAN, "Each scenario combines an unseen task (the task that is tested)", (CROSS,)),
    (PLAN, "The examples are drawn with the study's seed from frozen pools", (CROSS,)),
    (PLAN, "The pools share no text, as identified by its hash", (CROSS,)),
    (PLAN, "Participants who have already encountered an upstream or sham task are not", (CROSS,)),
    # Procedure
    (PLAN, "In the training step, examples are presented one at a time", ALL),
    (PLAN, "Answers cannot be changed.", ALL),
    (PLAN, "In the annotation step (shuffled", ALL),
    (PLAN, "The seed of all random choices is 7.", ALL),
    (PLAN, "Annotators may interrupt their work for up to 48 hours (on Prolific, within the", ALL),
    (PLAN, "The announced duration is 60 minutes.", (CLUES, CHOICE, SEATED)),
    (PLAN, "The announced duration is 5 minutes.", (CROSS,)),
    (PLAN, "The announced duration is 10 minutes.", (PROLIFIC,)),
    (PLAN, "the instructions, without the help examples.", (CLUES, SEATED)),
    (PLAN, "At zero shots, annotators are given the task description and the instructions.",
     (CHOICE, PROLIFIC)),
    (PLAN, "annotators may try out the tool on three made-up sentences", ALL),
    (PLAN, "An exit questionnaire asks annotators", (CLUES,)),
    (PLAN, "Participation requires a desktop or laptop computer.", (PROLIFIC,)),
    (PLAN, "Texts are tokenised with the tokeniser", ALL),
    # Screening and exclusion
    (PLAN, "After the training step, all annotators proceed to the annotation step; none are",
     UNSCREENED),
    (PLAN, "annotators need a mean training S1 (x 100) of at least 20.", (CHOICE,)),
    (PLAN, "Annotators who are screened out are paid for the time they worked", (CHOICE,)),
    (PLAN, "At zero shots, there is no training step, so no annotators are screened", (CHOICE,)),
    (PLAN, "If 5 annotators in a row are screened out, the study pauses automatically",
     (CHOICE,)),
    (PLAN, "There are no comprehension questions before the first example.", UNSCREENED),
    (PLAN, "annotators must answer 1 question about the instructions correctly", (CHOICE,)),
    (PLAN, "There are no attention checks.", ALL),
    (PLAN, "Signs of careless work", ALL),
    (PLAN, "Annotators who leave before the last test example are excluded from every score", ALL),
    (PLAN, "are excluded from the analysis only by a researcher's decision", ALL),
    (PLAN, "The results table is then shown both without and with the excluded annotators.", ALL),
    (PLAN, "answers to the exit questionnaire; quality flags.", (CLUES,)),
    (PLAN, "with excluded annotators; mean training S1 (x 100) of at least 50, 60, 70, 80, 90;"
     " median active time per example of at least 1, 2, 5, 10 s; ", ALL),
    (PLAN, "at least 1, 2, 5, 10 s; quality flags.", (CHOICE, CROSS, SEATED, PROLIFIC)),
    (PLAN, "Payment and inclusion in the analysis are decided independently", PAID),
    (PLAN, "Optional stopping is possible, because participants' test scores are visible to the",
     (CLUES, CROSS, PROLIFIC)),
    (PLAN, "participants' test scores are hidden from the researchers until the study is closed.",
     (CHOICE, SEATED)),
    # Pay, consent
    (PLAN, "Annotators are paid 12.00 USD per hour of active time", (CLUES, CROSS)),
    (PLAN, "Annotators are paid at least 12.00 USD per hour of active time", (CHOICE,)),
    (PLAN, "Annotators are paid 60.00 GBP per hour of active time", (PROLIFIC,)),
    (PLAN, "Active time is defined as the sum of min(gap, 60 s)", PAID),
    (PLAN, "Annotators who complete the task earn at least 2.00 USD.", (CHOICE,)),
    (PLAN, "Paid time is capped at 3 h.", (CLUES, CHOICE)),
    (PLAN, "Paid time is capped at 2 h.", (CROSS,)),
    (PLAN, "Paid time is capped at 0.5 h.", (PROLIFIC,)),
    (PLAN, "Earnings per annotator and task are capped at", PAID),
    (PLAN, "The budget for all annotators is", PAID),
    (PLAN, "This reward is the minimum pay for a completed submission.", PAID),
    (PLAN, "For participants from Prolific, the reward is fixed in advance and the same in"
     " all scenarios: the hourly rate for the announced time of the shortest", PAID),
    (PLAN, "No payment is promised.", (SEATED,)),
    (PLAN, "Consent is requested after a seat is assigned", ALL),
    (PLAN, "For participants who decline, the scenario and the time of the assignment are", ALL),
    (PLAN, "Annotators can withdraw at any time", ALL),
    # Planned analysis
    (PLAN, "The S1 of an answer is the harmonic mean", ALL),
    (PLAN, "The score of an annotator is the test-set score", ALL),
    (PLAN, "Each cell of the results table is the mean", ALL),
    (PLAN, "The 95 % confidence intervals of these means generalise to other people and",
     ALL),
    (PLAN, "Each is the wider of two intervals: the t interval over annotators", ALL),
    (PLAN, "No interval is computed for a single annotator or if all annotators have the", ALL),
    (PLAN, "percentile bootstraps over contexts", ALL),
    (PLAN, "with at least 10 annotators, over annotators and over both", (CHOICE,)),
    (PLAN, "Agreement is measured by Krippendorff's alpha", ALL),
    (PLAN, "Aggregated answers (plurality vote on labels and options; majority vote on sets of"
     " texts; Dawid-Skene on labels)", (CLUES, SEATED)),
    (PLAN, "Aggregated answers (plurality vote on labels and options) are", (CHOICE,)),
    (PLAN, "Aggregated answers (plurality vote on labels and options; Dawid-Skene on labels)",
     (CROSS,)),
    (PLAN, "Aggregated answers (majority vote on sets of texts) are", (PROLIFIC,)),
    (PLAN, "If predictions are uploaded or models take part in an annotator's seat", ALL),
    (PLAN, "applied to the difference in S1 on each example (annotator minus model); its",
     (CLUES, CROSS, SEATED, PROLIFIC)),
    (PLAN, "applied to each example's contribution to both scores under the task's metric; its",
     (CHOICE,)),
    (PLAN, "Holm-adjusted over one family: all differences between humans and a model", ALL),
    (PLAN, "The family is frozen when the study is closed.", ALL),
    (PLAN, "A sign-flip test over contexts is reported as a sensitivity analysis.", ALL),
    (PLAN, "Each test set is scored with its task's metric: ACC for", (CHOICE,)),
    (PLAN, "ACC is computed as in CrossFit (Ye et al., 2021,", (CHOICE,)),
    (PLAN, "intervals of jackknife pseudo-values", ()),
    (PLAN, "Two shot counts, or humans and a model, are considered equivalent", (CLUES,)),
    (PLAN, "Humans and a model are considered equivalent", (CROSS,)),
    (PLAN, "each at .05, without correction for the number of differences", (CLUES, CROSS)),
    (PLAN, "as the smallest margin within which equivalence could", (CLUES, CROSS)),
    (PLAN, "No margin applies to the gains of the arms.", (CROSS,)),
    (PLAN, "The design has no equivalence margin", (CHOICE, SEATED, PROLIFIC)),
    (PLAN, "The screening rule judges annotators with 5 shots", (CHOICE,)),
    (PLAN, "the judged arms can have better annotators", (CHOICE,)),
    (PLAN, "A difference between 0 and more shots can include this gain.", (CHOICE,)),
    (PLAN, "Each task has a single shot count, so no differences between shot", (CROSS,)),
    (PLAN, "form one family of 2 contrasts", (CLUES, SEATED)),
    (PLAN, "form one family of 1 contrast ", (CHOICE, PROLIFIC)),
    (PLAN, "The groups consist of different annotators who answer the same", TWO_SHOTS),
    (PLAN, "The primary test corresponds to the interval: its two-sided p value is the larger of",
     TWO_SHOTS),
    (PLAN, "generalises to other people and other examples; p values are Holm-adjusted", TWO_SHOTS),
    (PLAN, "We report each difference with its 95 % interval and Hedges' g.", TWO_SHOTS),
    (PLAN, "As a sensitivity analysis, we report Welch's test and the exact permutation test",
     TWO_SHOTS),
    (PLAN, "three training examples, the point of no further gain is estimated",
     (CLUES, CHOICE, CROSS)),
    (REPORT, "three training examples, the point of no further gain was estimated",
     (CLUES, CHOICE, CROSS)),
    (PLAN, "To do so, a linear rise followed by a constant level is fitted",
     (CLUES, CHOICE, CROSS)),
    (REPORT, "To do so, a linear rise followed by a constant level was fitted",
     (CLUES, CHOICE, CROSS)),
    (PLAN, "95 % bootstrap intervals over annotators are reported.", (CLUES, CHOICE, CROSS)),
    (REPORT, "95 % bootstrap intervals over annotators were reported.", (CLUES, CHOICE, CROSS)),
    (PLAN, "No hypotheses are tested on this point.", (CLUES, CHOICE, CROSS)),
    (REPORT, "No hypotheses were tested on this point.", (CLUES, CHOICE, CROSS)),
    (PLAN, "For a model with runs in several arms (in an annotator's seat, or uploaded),",
     (CROSS,)),
    (REPORT, "For a model with runs in several arms", ()),
    (PLAN, "If both are available for at least three unseen tasks, Spearman's", (CROSS,)),
    (REPORT, "If both are available for at least three unseen tasks", ()),
    (PLAN, "Primary outcome: the average relative gain (ARG)", (CROSS,)),
    (PLAN, "Test-set scores under the task's metric are averaged over", (CROSS,)),
    (PLAN, "The gain on each unseen task is (upstream - sham) / sham", (CROSS,)),
    (PLAN, "Secondary outcomes: upstream against direct", (CROSS,)),
    (PLAN, "it generalises to other people on these tasks and test examples", (CROSS,)),
    (PLAN, "The 95 % interval of the ARG is computed by the delta method with Satterthwaite's"
     " degrees of"
     " freedom over all tasks, and Fieller's method for a single task; it", (CROSS,)),
    (PLAN, "The 95 % interval of the ARG is computed by Fieller's method; it", ()),
    (PLAN, "No p value is computed for a gain.", (CROSS,)),
    (PLAN, "A gain is reported as not computable", (CROSS,)),
    (PLAN, "In that case, no ARG is computed, because a mean over the remaining tasks", (CROSS,)),
    (PLAN, "The absolute difference is reported for all tasks.", (CROSS,)),
    (PLAN, "As a manipulation check, we report S1 over upstream tasks", (CROSS,)),
    (PLAN, "comparisons with models include only the direct arm.", (CROSS,)),
    # Methods: design, recruitment, steps
    (REPORT, "on SST-2 (version 1) and CoNLL03 (version 1) at 0 and 30 shots", (CLUES,)),
    (REPORT, "on own-choice (version 1) at 0 and 5 shots", (CHOICE,)),
    (REPORT, "on unseen-a (version 1) and unseen-b (version 1) at 4 shots", (CROSS,)),
    (REPORT, "(Mukherjee et al., 2021) and the arms of CrossFit (Ye et al., 2021)", (CROSS,)),
    (REPORT, "annotation steps of CLUES (Mukherjee et al., 2021), on the Handful", TWO_SHOTS),
    (REPORT, "on toy-labels (version 1) and toy-spans (version 1) at 0 and 2 shots", (SEATED,)),
    (REPORT, "on toy-places (version 1) at 0 and 2 shots", (PROLIFIC,)),
    (REPORT, "by highlighting spans of the text in CoNLL03 and by choosing a label in SST-2",
     (CLUES,)),
    (REPORT, "Annotators answered by choosing one of the example's options.", (CHOICE,)),
    (REPORT, "Annotators answered by choosing a label.", (CROSS,)),
    (REPORT, "by highlighting spans of the text in toy-spans", (SEATED,)),
    (REPORT, "Annotators answered by highlighting spans of the text.", (PROLIFIC,)),
    (REPORT, "We planned to recruit 3 annotators for each of the 4 scenarios (a combination of"
     " task",
     (CLUES, SEATED)),
    (REPORT, "We planned to recruit 12 annotators for each of the 2 scenarios (a combination of"
     " task",
     (CHOICE,)),
    (REPORT, "We planned to recruit 3 annotators for each of the 6 scenarios (a combination of"
     " unseen task, arm and number of shots).", (CROSS,)),
    (REPORT, "We planned to recruit 2 annotators for each of the 2 scenarios (a combination of"
     " task",
     (PROLIFIC,)),
    (REPORT, "before the first participant was assigned to a scenario; later changes", ALL),
    (REPORT, "Participants were assigned on arrival to the least-filled scenario", assigned),
    (REPORT, "Participants chose their scenario on Prolific", chose),
    (REPORT, "Participants could take part in each task only once.", ALL),
    (REPORT, "who came via an open link, this was enforced per browser only.", BY_LINK),
    (REPORT, "The study was a between-subjects cross-task study", (CROSS,)),
    (REPORT, "the upstream arm completed 3 examples of each of up-one, up-two", (CROSS,)),
    (REPORT, "Each scenario combines an unseen task (the task that is tested)", (CROSS,)),
    (REPORT, "The examples were drawn with the study's seed from frozen pools", (CROSS,)),
    (REPORT, "The pools share no text, as identified by its hash", (CROSS,)),
    (REPORT, "Participants who had already encountered an upstream or sham task were not",
     (CROSS,)),
    (REPORT, "At more than zero shots, annotators first completed a training step", TWO_SHOTS),
    (REPORT, "After each answer, which could not be changed, the gold answer and", ALL),
    (REPORT, "Annotators then completed a training step of k examples of the unseen task",
     (CROSS,)),
    (REPORT, "annotators answered all of the study's test examples for the task", ALL),
    (REPORT, "A subset of the imported test file was used: own-choice, 4 of 10", (CHOICE,)),
    (REPORT, "and the instructions, without the help examples.", (CLUES, SEATED)),
    (REPORT, "annotators were given the task description and the instructions.",
     (CHOICE, PROLIFIC)),
    # Methods: gates
    (REPORT, "The announced duration was 60 minutes; annotators could interrupt their work for up"
     " to 48 hours.", (CLUES, CHOICE, SEATED)),
    (REPORT, "The announced duration was 5 minutes;", (CROSS,)),
    (REPORT, "The announced duration was 10 minutes;", (PROLIFIC,)),
    (REPORT, "for up to 48 hours (on Prolific, a submission ends after 32 minutes).", (PROLIFIC,)),
    (REPORT, "verify.py, which recomputes the main table from", (CLUES, CROSS, SEATED, PROLIFIC)),
    (REPORT, "recomputes the main table (except for own-choice under ACC) from", (CHOICE,)),
    (REPORT, "annotators could try out the tool on three made-up sentences", ALL),
    (REPORT, "Participation required a desktop or laptop computer.", (PROLIFIC,)),
    (REPORT, "annotators had to answer 1 question about the instructions", (CHOICE,)),
    (REPORT, "all annotators proceeded to the annotation step; none were screened",
     UNSCREENED),
    (REPORT, "annotators needed a mean training S1 (x 100) of at least 20.", (CHOICE,)),
    (REPORT, "Annotators who were screened out were promised pay for the time they worked",
     (CHOICE,)),
    (REPORT, "At zero shots, there was no training step, so no annotators were screened",
     (CHOICE,)),
    (REPORT, "An exit questionnaire asked annotators", (CLUES,)),
    (REPORT, "Optional stopping was possible, because participants' test scores were visible to"
     " the",
     (CLUES, CROSS, PROLIFIC)),
    (REPORT, "were hidden from the researchers until the study was closed.", (CHOICE, SEATED)),
    # Methods: participants
    (REPORT,
     "Of 14 participants who took a seat (13 via an open link; 1 declined, source not stored)",
     (CLUES,)),
    (REPORT, "Of 25 participants who took a seat (25 via an open link)", (CHOICE,)),
    (REPORT, "Of 19 participants who took a seat (19 via an open link)", (CROSS,)),
    (REPORT, "In total, 6 participants took 12 seats (12 via an open link)", (SEATED,)),
    (REPORT, "Of 4 participants who took a seat (4 via Prolific)", (PROLIFIC,)),
    (REPORT, "A participant took one seat for each task and is counted", (SEATED,)),
    (REPORT, "In total, 1 annotator withdrew, and their answers were erased.", (CROSS,)),
    (REPORT, "1 annotator was excluded by a researcher; the reasons are given below.", (CHOICE,)),
    (REPORT, "excluded automatically; the reasons are given below.", automatically_excluded),
    (REPORT, "Human performance is reported with and without excluded annotators.",
     has_excluded),
    (REPORT, "No annotator was screened out.", (CHOICE,)),
    (REPORT, "Of those who completed the study, 1 was rejected on the platform;", (PROLIFIC,)),
    # Methods: scores, tests, pay
    (REPORT, "Answers were scored with S1", UNSCREENED),
    (REPORT, "Individual answers were scored with S1", (CHOICE,)),
    (REPORT, "For labels, S1 is 1 if the label is correct", (CLUES, CROSS, SEATED)),
    (REPORT, "S1 is 1 for the gold option, and 0 otherwise.", (CHOICE,)),
    (REPORT, "a number equal to the gold number", ()),
    (REPORT, "exactly the gold text", ()),
    (REPORT, "Each test set is scored with its task's metric: ACC for", (CHOICE,)),
    (REPORT, "ACC is computed as in CrossFit (Ye et al., 2021,", (CHOICE,)),
    (REPORT, "over annotators of their mean S1 on the test examples", UNSCREENED),
    (REPORT, "over annotators of their score on the test examples", (CHOICE,)),
    (REPORT, "The string below the human-performance table (its recipe)", ALL),
    (REPORT, "Confidence intervals of means treat both annotators and test examples as samples",
     ALL),
    (REPORT, "Each interval is the wider of two: the t interval over annotators", ALL),
    (REPORT, "As a sensitivity analysis, we report percentile bootstraps of the means (10,000",
     ALL),
    (REPORT, "Agreement among annotators and the scores of their aggregated answers are", ALL),
    (REPORT, "We tested 2 differences between shot counts", (CLUES, SEATED)),
    (REPORT, "We tested 1 difference between shot counts", one_pair_is_tested),
    (REPORT, "We tested 4 differences between humans and a model", (SEATED,)),
    (REPORT, "We tested 1 difference between humans and a model", (CHOICE,)),
    (REPORT, "We consider two shot counts equivalent if the 90 % interval", (CLUES,)),
    (REPORT, "lies within the margin frozen in the design, ± 5 points (two one-sided tests, each at"
     " .05, without correction for multiple testing).", (CLUES,)),
    (REPORT, "treat annotators as a sample, and tasks and test examples as fixed", (CROSS,)),
    (REPORT, "No p value is computed for a gain.", (CROSS,)),
    (REPORT, "Annotators were promised 12.00 USD per hour of active time", (CLUES, CROSS)),
    (REPORT, "Annotators were promised at least 12.00 USD per hour of active time", (CHOICE,)),
    (REPORT, "Annotators were promised at least 60.00 GBP per hour of active time", (PROLIFIC,)),
    (REPORT, "Active time is defined as the sum of min(gap, 60 s)", PAID),
    (REPORT, "Annotators who completed the task were promised at least 2.00 USD.", (CHOICE,)),
    (REPORT, "in total, of which none is recorded as paid.", PAID),
    (REPORT, "of which all is recorded as paid.", ()),
    (REPORT, "Paid time was capped at", PAID),
    (REPORT, "Earnings per annotator and task were capped at", PAID),
    (REPORT, "including top-ups for time but excluding bonuses awarded by a researcher.", PAID),
    (REPORT, "including top-ups for time and waiting time", ()),
    (REPORT, "The budget for all annotators was", PAID),
    (REPORT, "The Prolific reward for a completed submission was", (PROLIFIC,)),
    (REPORT, "based on active time (n = 13, of which 1 ended before completion).", (CLUES,)),
    (REPORT, "based on active time (n = 25).", (CHOICE,)),
    (REPORT, "based on active time (n = 18).", (CROSS,)),
    (REPORT, "based on active time (n = 3).", (PROLIFIC,)),
    (REPORT, "No payment was promised.", (SEATED,)),
    # Uncertainty, gains, marks
    (REPORT, "The screening rule judges annotators with 5 shots", (CHOICE,)),
    (REPORT, "the judged arms can have better annotators", (CHOICE,)),
    (REPORT, "A difference between 0 and more shots can include this gain.", (CHOICE,)),
    (REPORT, "Only part of an imported test file was used: own-choice, 4 of 10 test", (CHOICE,)),
    (REPORT, "Uploaded models are scored on the same examples.", (CHOICE,)),
    (REPORT, "tables and figures by task and shots (and their n) include only the direct",
     (CROSS,)),
    (REPORT, "6 and 6 annotators over all tasks), ", (CROSS,)),
    (REPORT, "Transfer: the upstream arm gains", (CROSS,)),
    (REPORT, "Transfer and practice: the upstream arm gains", (CROSS,)),
    (REPORT, "Practice: the sham arm gains", (CROSS,)),
    # Conduct
    (REPORT, "did not consent: 1", (CLUES,)),
    (REPORT, "returned the seat: 1", (CLUES,)),
    (REPORT, "withdrew: 1", (CROSS,)),
    (REPORT, "completed, but excluded from the analysis: ", has_excluded),
    (REPORT, "No dropouts.", lambda study: not has_left(study)),
    (REPORT, "No annotator withdrew.", (CLUES, CHOICE, SEATED, PROLIFIC)),
    (REPORT, "1 annotator withdrew; their answers were erased and are not part of", (CROSS,)),
    (REPORT, "Completed, but excluded from the analysis: ", ALL),
    (REPORT, "A rejection on the platform after completion affects only pay;", (PROLIFIC,)),
    (REPORT, "Rejected after completion: 1, of which included in the analysis: 1.", (PROLIFIC,)),
    (REPORT, "All changes to the study since its design was frozen:", ALL),
    (REPORT, "UTC: closed for good", ALL),
    (REPORT, "UTC: A-", has_excluded),
    (REPORT, "Items are numbered as in the checklist of Wei et al.", ALL),
    (REPORT, "Items follow part D of the ACL Rolling Review Responsible NLP checklist", ALL),
    (REPORT, "Items 14 and 15 of the NeurIPS paper checklist", ALL),
    (REPORT, "Answers are Yes, No or N/A; No can also mean that the study does not state it.", ALL),
    (REPORT, "every answer with its times except those of participants who withdrew", ALL),
    (REPORT, "The report in the bundle states the SHA-256 of SHA256SUMS", ALL),
]  # fmt: skip


def sentences(document: blocks.Document) -> list[str]:
    """Return the sentences of paragraphs and lists, but not of tables, notes and the checklist."""
    found = []
    for section in document.sections:
        for block in section.blocks:
            texts = {"paragraph": lambda b: [b.text], "bullets": lambda b: b.items}
            for text in texts.get(block.kind, lambda _block: [])(block):
                found += re.split(r"(?<=[.?!])\s+(?=[A-Z“\d])", text)
    return found


@pytest.fixture(scope="module")
def documents(five) -> dict[tuple[str, str], blocks.Document]:
    """Return (document, name of study) -> document, built once because tests only read them."""
    made = {}
    for name, pk in five.items():
        study = Study.objects.get(pk=pk)
        made[PLAN, name] = preregistration.for_study(study)
        made[REPORT, name] = report.for_study(study)
    return made


@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
def test_templates_of_sentences_name_only_known_values(db, five, name, monkeypatch):
    monkeypatch.setattr(Engine.get_default(), "string_if_invalid", "⟦%s⟧")
    study = Study.objects.get(pk=five[name])
    for document in (preregistration.for_study(study), report.for_study(study)):
        assert "⟦" not in blocks.as_markdown(document)


@pytest.mark.long
@pytest.mark.parametrize(("document", "words", "where"), SENTENCES)
def test_each_sentence_is_only_in_documents_where_it_is_true(
    db, five, documents, document, words, where
):
    for name in ALL:
        expected = where(Study.objects.get(pk=five[name])) if callable(where) else name in where
        stands = any(words in sentence for sentence in sentences(documents[document, name]))
        assert stands == expected, name


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("document", [PLAN, REPORT])
def test_every_sentence_is_in_the_table(documents, document, name):
    known = [words for of, words, _where in SENTENCES if of == document]
    unknown = [
        sentence
        for sentence in sentences(documents[document, name])
        if not any(words in sentence for words in known)
    ]
    assert unknown == []


# Tables -------------------------------------------------------------------------------------------


def grids(document: blocks.Document) -> dict[str, blocks.Grid]:
    return {
        block.caption: block
        for section in document.sections
        for block in section.blocks
        if block.kind == "grid"
    }


def titles(document: blocks.Document) -> list[str]:
    return [section.title for section in document.sections]


def test_people_minus_models_is_reported_for_every_model_source(documents):
    section = "Models on the same examples"
    assert [name for name in ALL if section in titles(documents[REPORT, name])] == [CHOICE, SEATED]
    for name, model, rows in (
        (CHOICE, "uploaded-model", 1),
        (SEATED, "openai/toy r1, prompt", 4),
    ):
        tables = grids(documents[REPORT, name])
        differences = tables["Differences between humans and models"]
        assert len(differences.rows) == rows
        assert {row[0].startswith(model) for row in differences.rows} == {True}
        assert {row[:3] for row in map(tuple, tables["Models"].rows)} == {
            (model, task, shots) for model, task, shots, *_rest in differences.rows
        }


# Words in the preregistration -> (caption, heading) of what the report must show for them.
PLANNED = {
    "percentile bootstraps over contexts": ("Bootstrap intervals of the means", "Other examples"),
    "with at least 10 annotators, over annotators": (
        "Bootstrap intervals of the means", "Bootstrap, annotators",
    ),
    "over annotators and over both": ("Bootstrap intervals of the means", "Bootstrap, both"),
    "Agreement is measured by Krippendorff's alpha": ("Agreement", "α nominal"),
    "mean pairwise S1": ("Agreement", "Pairwise S1"),
    "Aggregated answers": ("Aggregated answers", "Majority"),
    "Dawid-Skene on labels": ("Aggregated answers", "Dawid-Skene"),
    "A sensitivity analysis shows": ("Sensitivity to inclusion criteria", "Criterion"),
    "the average relative gain (ARG)": ("Gains of the arms", "Relative gain"),
    "As a manipulation check": ("Manipulation check", "Mean"),
    "learning curve within an upstream task": ("Learning curve within an upstream task", "Mean"),
    "Differences between shot counts form one family": ("Differences between shots", "p Holm"),
    "exact permutation test": ("Differences between shots", "p exact"),
}  # fmt: skip


@pytest.mark.parametrize("words", PLANNED)
def test_the_report_has_what_was_planned_and_nothing_else(documents, words):
    caption, heading = PLANNED[words]
    for name in ALL:
        is_planned = any(words in sentence for sentence in sentences(documents[PLAN, name]))
        found = grids(documents[REPORT, name]).items()
        shown = [it for named, it in found if named.split(":")[0] == caption]
        assert is_planned == any(heading in it.columns for it in shown), name


def test_equivalence_is_judged_where_the_design_has_a_margin(documents):
    for name in (CLUES, CHOICE, SEATED, PROLIFIC):
        table = grids(documents[REPORT, name])["Differences between shots"]
        assert ("Equivalence" in table.columns) == (name == CLUES)
        assert "Smallest margin" in table.columns


def captions(document: blocks.Document) -> dict[str, str]:
    """Return name -> caption of each figure."""
    pictures = [b for section in document.sections for b in section.blocks if b.kind == "picture"]
    return {picture.name: picture.caption for picture in pictures}


def test_a_caption_names_only_what_is_in_the_figure(documents):
    for name in ALL:
        shown = captions(documents[REPORT, name])
        assert ("models" in shown) == (name in (CHOICE, SEATED))
        assert ("uploaded models" in shown.get("models", "")) == (name == CHOICE)
        assert "CLUES printed" not in shown.get("models", "")
        assert "Dashed lines show the highest score attainable without reading" in shown["shots"]


def test_no_document_refers_to_a_page_of_the_server(documents):
    for made in documents.values():
        words = blocks.as_markdown(made)
        assert not re.search(r"on the page|the page (Analysis|Sensitivity|Gold audit)", words)


def test_a_returned_seat_has_no_elapsed_time(db, five):
    record = StudyRecord(Study.objects.get(pk=five[CLUES]))
    known = {wage.participation.status: wage.elapsed_seconds for wage in record.settled}
    assert known.pop(Status.RETURNED) is None
    assert known[Status.COMPLETED] > 0
    assert record.median("elapsed_seconds", record.settled) > 0


@pytest.mark.long
def test_materials_have_the_tasks_of_every_step(db, five, tmp_path):
    study = Study.objects.get(pk=five[CROSS])
    assert "Consistent" in release.write_release(study, tmp_path / "out")
    names = {path.stem for path in (tmp_path / "out" / "materials").glob("*.json")}
    assert names == {"unseen-a", "unseen-b", "up-one", "up-two", "sham"}


def test_a_criterion_without_effect_is_omitted(db, five, documents):
    table = grids(documents[REPORT, CHOICE])["Sensitivity to inclusion criteria: own-choice"]
    reported, *others = [row[1:] for row in table.rows]
    assert others
    assert reported not in others
    assert table.rows[1][0] == "with annotators excluded by a researcher"


def test_the_score_of_a_seated_model_is_that_of_its_answers(db, five, documents):
    study = Study.objects.get(pk=five[SEATED])
    for _model, task, shots, _metric, score, runs in grids(documents[REPORT, SEATED])[
        "Models"
    ].rows:
        seat = study.participations.get(
            kind=Kind.MODEL, scenario__task__name=task, scenario__shots=shots
        )
        mean = statistics.fmean(
            seat.turns.filter(step="annotation").values_list("answer__s1", flat=True)
        )
        assert (score, runs) == (f"{100 * mean:.1f} ± –", "1 of 1")


def test_time_and_cost_of_seated_models_are_reported(documents):
    effort = grids(documents[REPORT, SEATED])["Time and cost per answer"]
    (row,) = [dict(zip(effort.columns, row, strict=True)) for row in effort.rows[1:]]
    # Four runs of 8 answers, 90 seconds and 0.25 USD each.
    assert (row["Answers"], row["Minutes per answer"], row["Cost per answer"]) == (
        "32", "0.19", "0.0312",
    )  # fmt: skip
    assert "Time and cost per answer" not in grids(documents[REPORT, CHOICE])


def test_a_sampled_test_set_is_described_in_the_plan(documents):
    notes = {name: grids(documents[PLAN, name])["Scenarios"].notes for name in ALL}
    told = (
        "A subset of the imported test file is used: own-choice, 4 of 10 test examples drawn with"
    )
    for name in ALL:
        (note,) = notes[name]
        assert note.startswith("Annotators who complete a task answer all of its test examples.")
        assert "At k shots, they first complete the k training examples" in note
        assert (f"{told} seed 3." in note) == (name == CHOICE)
        assert "corpus" not in note


def test_a_highlighting_ceiling_is_given_only_for_highlighting(documents):
    last = {name: grids(documents[REPORT, name])["Human performance"].rows[-1] for name in ALL}
    assert last[CLUES] == ["ceiling by highlighting", "–", "100.0"]
    assert last[SEATED] == ["ceiling by highlighting", "–", "100.0"]
    assert last[PROLIFIC] == ["ceiling by highlighting", "100.0"]
    assert "ceiling by highlighting" not in (last[CHOICE][0], last[CROSS][0])


@pytest.mark.long
def test_the_table_of_seated_models_counts_model_runs(ada, five):
    study = Study.objects.get(pk=five[SEATED])
    told = "Mean ± SD over {} (ddof 1) of each {}'s mean S1 x 100"
    runs, annotators = (
        told.format("model runs", "model run"),
        told.format("annotators", "annotator"),
    )
    for kind, right, wrong in ((Kind.MODEL, runs, annotators), (Kind.PERSON, annotators, runs)):
        text = rendering.as_markdown(performance(study, kind))
        assert right in text
        assert wrong not in text
    about = reverse("human_performance", args=[study.name], query={"kind": "model"})
    assert "model runs (ddof 1) of each model run's" in ada.get(about).content.decode()


def test_people_with_two_tasks_are_noted_as_counted_twice(documents):
    notes = {
        name: grids(documents[REPORT, name])["Participant flow by scenario"].notes for name in ALL
    }
    told = "Distinct participants: 6 arrived, 6 are included in the analysis."
    assert [name for name in ALL if any("counted twice" in note for note in notes[name])] == [
        SEATED
    ]
    assert any(told in note for note in notes[SEATED])


def test_an_unpaid_study_reports_times_and_no_money(documents):
    facts = {
        name: [
            fact.name
            for section in documents[REPORT, name].sections
            for block in section.blocks
            if block.kind == "facts"
            for fact in block.rows
        ]
        for name in ALL
    }
    assert "Median active minutes" in facts[SEATED]
    assert not [name for name in facts[SEATED] if "earnings per" in name or "earned" in name]
    assert "Earnings by kind" not in grids(documents[REPORT, SEATED])
    for name in PAID:
        assert "Median earnings per active hour" in facts[name]


# Numbers against raw rows -------------------------------------------------------------------------


def written(documents, name: str) -> str:
    return " ".join(sentences(documents[REPORT, name]))


@pytest.mark.parametrize("name", ALL)
def test_reported_numbers_of_people_match_the_rows(db, five, documents, name):
    study, text = Study.objects.get(pk=five[name]), written(documents, name)
    rows = people(study)
    completed = rows.filter(status=Status.COMPLETED)
    analysed = completed.filter(in_analysis=True)
    consented = rows.exclude(consented_at=None).count()
    workers = analysed.values("worker").distinct().count()
    if name == SEATED:
        assert f"{workers} participants took {rows.count()} seats" in text
        assert f": consent was given for {consented:,} of them, {completed.count()} were" in text
        assert f" completed, and {analysed.count()} (held by {workers} participants) were" in text
    else:
        assert f" {consented:,} consented" in text
        stayed = " and did not withdraw" if name == CROSS else ""
        assert f" {completed.count()} completed the study{stayed}, and {analysed.count()}" in text
        assert workers == analysed.count()
        assert f"Of {rows.count() + declined(study)} participants who took a seat" in text


@pytest.mark.parametrize("name", ALL)
def test_the_number_of_tests_is_that_of_pairs_of_groups(db, five, documents, name):
    study, tables = Study.objects.get(pk=five[name]), grids(documents[REPORT, name])
    groups = combinations(sorted(cells(study)), 2)
    pairs = [(fewer, more) for fewer, more in groups if fewer[0] == more[0]]
    rows = tables["Differences between shots"].rows if pairs else []
    assert len(rows) == len(pairs)
    assert ("Differences between shots" in tables) == bool(pairs)


@pytest.mark.parametrize("name", PAID)
def test_median_earnings_match_ledger_and_working_time(db, five, documents, name):
    study = Study.objects.get(pk=five[name])
    wages = []
    settled = people(study).exclude(worked_seconds=None).exclude(status=Status.WITHDRAWN)
    settled = settled.filter(is_paid=True)
    for person in settled.filter(worked_seconds__gt=0):
        entries = LedgerEntry.objects.filter(participation=person)
        cents = entries.aggregate(sum=Sum("cents", default=0))["sum"]
        wages.append(cents * 3600 / person.worked_seconds)
    median = f"{round(statistics.median(wages)) / 100:.2f} {study.currency}"
    assert f"Median hourly earnings were {median}" in written(documents, name)


def facts_of(documents, name: str) -> dict[str, str]:
    return {
        fact.name: fact.text
        for section in documents[REPORT, name].sections
        for block in section.blocks
        if block.kind == "facts"
        for fact in block.rows
    }


def of_checklist(documents, name: str, number: str) -> str:
    (entry,) = [
        item
        for section in documents[REPORT, name].sections
        for block in section.blocks
        if block.kind == "checklist"
        for item in block.entries
        if item.number == number
    ]
    return f"{entry.answer} | {entry.evidence}"


@pytest.mark.parametrize("name", PAID)
def test_totals_of_earnings_are_those_of_the_paid_entries(db, five, documents, name):
    study = Study.objects.get(pk=five[name])
    entries = LedgerEntry.objects.filter(participation__study=study, participation__is_paid=True)
    number, cents = entries.count(), entries.aggregate(n=Sum("cents"))["n"]
    earned = f"{cents // 100}.{cents % 100:02d}"
    assert facts_of(documents, name)["Total earned"] == f"{earned} {study.currency}"
    table = grids(documents[REPORT, name])["Earnings by kind"].rows
    assert list(table[-1]) == ["total", str(number), earned]
    assert f"Total earnings: {earned} {study.currency}." in of_checklist(documents, name, "1.7")
    is_prolific = name == PROLIFIC
    settled = facts_of(documents, name)["Annotators with settled pay"]
    assert ("1 unpaid by decision" in settled) == is_prolific


def test_a_later_withdrawal_is_not_reported_as_incomplete(documents):
    flow = grids(documents[REPORT, CROSS])["Participant flow by scenario"]
    assert "Completed: answered all test examples and did not withdraw." in flow.notes[0]
    said = of_checklist(documents, CROSS, "5.1.5")
    assert "18 of 19 who took a seat (95%) completed and did not withdraw; 1 withdrew" in said


@pytest.mark.long
def test_refused_arrivals_on_the_landing_page_are_reported(db, five):
    study = Study.objects.get(pk=five[CLUES])

    def told() -> tuple[bool, str]:
        made = {(REPORT, CLUES): report.for_study(study)}
        notes = grids(made[REPORT, CLUES])["Participant flow by scenario"].notes
        return any("landing page" in note for note in notes), of_checklist(made, CLUES, "2.3.2")

    is_noted, said = told()
    assert not is_noted
    assert "before taking a seat (refusals, not participants): none." in said
    study.refused_arrivals.create(reason="full", number=3)
    is_noted, said = told()
    assert is_noted
    assert " 3." in said.partition("refusals, not participants")[2]


def test_a_table_explains_only_the_marks_that_it_has(documents):
    for name in ALL:
        for caption, table in grids(documents[REPORT, name]).items():
            has_mark = any("†" in cell for row in table.rows for cell in row)
            assert any("†" in note for note in table.notes) == has_mark, (name, caption)


def test_no_table_cell_is_a_python_constant(documents):
    cells_of = [
        cell
        for name in ALL
        for table in grids(documents[REPORT, name]).values()
        for row in table.rows
        for cell in row
    ]
    assert not {"None", "nan", "True", "False"}.intersection(cells_of)


def test_tables_of_arms_explain_their_columns(documents):
    tables = grids(documents[REPORT, CROSS])
    assert "participants in the arm" in " ".join(tables["Gains of the arms"].notes)
    assert "Arm: " in " ".join(tables["Manipulation check"].notes)
    assert not [caption for caption in tables if "as published" in caption]  # no partition


def test_declined_consent_is_noted_below_the_table_of_results(documents):
    notes = " ".join(grids(documents[REPORT, CLUES])["Human performance"].notes)
    assert "Not included: 1 declined; 1 returned the seat." in notes


def test_power_is_described_as_that_of_welchs_test(documents):
    for name in TWO_SHOTS:
        (note,) = grids(documents[PLAN, name])["Statistical power of this design"].notes
        assert "that Welch's t test over annotators alone detects with 80% power" in note
        assert "The primary test also generalises to other examples" in note


def test_annotators_with_two_tasks_are_counted_as_one_person(db, five):
    record = StudyRecord(Study.objects.get(pk=five[SEATED]))
    assert (record.workers["arrived"], record.workers["analysed"], record.flow.arrived) == (
        6,
        6,
        12,
    )
    other = StudyRecord(Study.objects.get(pk=five[CLUES]))
    assert (other.workers["arrived"], other.workers["analysed"]) == (14, 12)


# Other designs ------------------------------------------------------------------------------------


def plan(study: Study, **changes) -> str:
    """Return the preregistration of a study with these keys of the manifest changed."""
    manifest = StudyRecord(study).manifest | changes
    opening = preregistration.Opening("0" * 64, study.opened_at, 1, 0)
    return " ".join(sentences(preregistration.document(manifest, opening)))


def reported(study: Study, **changes) -> str:
    """Return the methods of a study with these keys of the manifest changed."""
    record = StudyRecord(study)
    record.manifest |= changes
    return " ".join(paragraph.text for paragraph in methods.paragraphs(record, {}))


def test_a_chosen_scenario_is_never_called_assigned(db, five):
    study = Study.objects.get(pk=five[PROLIFIC])
    planned = plan(study, participants_choose_scenario=True)
    assert "Participants choose their scenario on Prolific" in planned
    assert "contrasts between scenarios therefore compare self-selected groups" in planned
    assert "Participants are assigned" not in planned
    assert "Participants recruited elsewhere are assigned" in planned
    five_studies.have_chosen(study)
    told = reported(study)
    assert "Participants chose their scenario on Prolific" in told
    assert "were assigned on arrival" not in told


def test_programs_in_peoples_seats_are_in_plan_and_report(db, five):
    study = Study.objects.get(pk=five[CLUES])
    assert "Programs may take human annotators' seats through the API" in plan(
        study, programs_as_people=True
    )
    assert "Programs could take human annotators' seats" in reported(study, programs_as_people=True)
    assert "Programs" not in plan(study) + reported(study)


def test_the_audience_is_in_plan_and_report(db, five):
    study = Study.objects.get(pk=five[PROLIFIC])
    audience = {
        "countries": ["GB", "IE"], "languages": ["English"], "minimum_age": 18, "maximum_age": 60,
        "approval_rate": 95,
        "filters": [{"filter_id": "vegan"}], "content_warning": "Some texts\nare rude.",
    }  # fmt: skip
    conditions = (
        "recruited under these conditions: countries GB, IE; languages English; minimum age 18;"
        " maximum age 60; approval rate of at least 95 %; Prolific"
        ' filters [{"filter_id": "vegan"}].'
    )
    warning = "warned of the content: “Some texts are rude.”"
    for text, are in (
        (plan(study, audience=audience), "are"),
        (reported(study, audience=audience), "were"),
    ):
        assert f"participants {are} {conditions}" in text
        assert f"Annotators {are} {warning}" in text
    assert "conditions" not in plan(study, audience={}) + plan(study)
    assert plan(study, audience={"countries": [], "minimum_age": None}) == plan(study)


def test_an_audience_on_prolific_is_unused_by_links(db, five):
    study = Study.objects.get(pk=five[CLUES])
    audience = {"countries": ["GB", "IE"], "minimum_age": 18, "content_warning": "Rude."}
    text = reported(study, audience=audience)
    assert "recruited under these conditions" not in text
    assert (
        "The design restricts recruitment on Prolific (countries GB, IE; minimum age 18), but no"
        " participants were recruited there. Annotators were warned of the content: “Rude.”"
    ) in text


def test_a_rehearsal_is_called_a_rehearsal(db, five):
    study = Study.objects.get(pk=five[CLUES])
    assert "The study is a rehearsal" in plan(study, rehearsal=True)
    assert "The study was a rehearsal" in reported(study, rehearsal=True)


def test_a_metric_of_whole_test_sets_is_said_to_be_pseudo_valued(researcher):
    task = factories.make_task(labels=factories.LABELS, metric="Classification-F1")
    study = factories.make_study(researcher, task, metrics=["ACC"])
    told = "metrics are not means over examples: Classification-F1. Their intervals are two-way"
    assert told in plan(study)
    assert told in reported(study)


def test_scores_of_an_open_study_are_reported_as_still_hidden(researcher):
    study = factories.make_study(researcher, factories.make_task(), hide_test_scores=True)
    assert "are hidden from the researchers until the study is closed." in reported(study)


def test_equivalence_tests_are_stated_to_be_uncorrected(documents):
    told = "two one-sided tests, each at .05, without correction for multiple"
    for name in TWO_SHOTS:
        notes = grids(documents[REPORT, name])["Differences between shots"].notes
        assert any(told in note for note in notes) == (name == CLUES)


def test_a_study_without_results_mentions_no_test(researcher):
    study = factories.make_study(researcher, factories.make_task())
    consent.record(factories.join(study), agree=True)
    text = " ".join(sentences(report.for_study(study)))
    assert "Confidence intervals of means" not in text
    assert "We tested" not in text
