"""The pay promised by a study, in sentences for annotators and researchers."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import reduce

from django.utils.translation import gettext

from annotation.models import Study
from annotation.pay.ledger import cap, cents, for_time, in_currency
from annotation.web.wording import money


def promise(study: Study, minutes: Iterable[int] = ()) -> str:
    """Return the promises as text, starting with the expected amount if `minutes` are known."""
    expected, *promises = parts(study, minutes)
    if expected:
        terms = {"amount": expected, "terms": promises[0]}
        promises[0] = gettext("%(amount)s (%(terms)s)") % terms
    # Translators: two promises of pay, one after the other.
    joined = gettext("%(first)s; %(second)s")
    return reduce(lambda first, second: joined % {"first": first, "second": second}, promises)


def parts(study: Study, minutes: Iterable[int] = ()) -> list[str]:
    """Return the expected pay ("" if unknown), followed by each promise."""
    if not study.is_paid:
        return ["", gettext("none (you are a volunteer)")]
    promises, currency = [""], study.currency
    if study.hourly_rate:
        promises = [_expected(study, sorted(minutes)), _rate(study)]
    if study.base_reward:
        text = gettext("at least %(amount)s if you complete a task")
        promises.append(text % {"amount": money(study.base_reward, currency)})
    if study.minimum_pay:
        text = gettext("at least %(amount)s once you have seen one example")
        promises.append(text % {"amount": money(study.minimum_pay, currency)})
    return promises


def _expected(study: Study, minutes: Sequence[int]) -> str:
    if not minutes or not minutes[0]:
        return ""
    lowest, highest = (
        max(for_time(study, timedelta(minutes=number)), cents(study.base_reward))
        for number in (minutes[0], minutes[-1])
    )
    pay = money(in_currency(lowest), study.currency)
    if lowest != highest:
        most = money(in_currency(highest), study.currency)
        pay = gettext("%(least)s to %(most)s") % {"least": pay, "most": most}
    return gettext("about %(pay)s") % {"pay": pay}


def _rate(study: Study) -> str:
    amount = money(study.hourly_rate, study.currency)
    if (limit := cap(study)) is None:
        return gettext("%(amount)s per hour") % {"amount": amount}
    text = gettext("%(amount)s per hour, at most %(most)s per task")
    return text % {"amount": amount, "most": money(in_currency(limit), study.currency)}
