"""The pay that a study promises, in sentences for annotators and researchers."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import reduce
from math import ceil

from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext

from annotation.models import Study
from annotation.pay.ledger import cap, cents, for_time, in_currency
from annotation.web.wording import money


def promise(study: Study, minutes: Iterable[int] = ()) -> str:
    """Return the promised pay in words: the rate, the cap and the minimum for completing.

    If each scenario's minutes are given, the expected amount comes first.
    """
    if not study.is_paid:
        return gettext("none (you are a volunteer)")
    promises, currency = [], study.currency
    if study.hourly_rate:
        promises.append(_expected(study, sorted(minutes)) or _rate(study))
    if study.base_reward:
        text = gettext("at least %(amount)s if you complete a task")
        promises.append(text % {"amount": money(study.base_reward, currency)})
    if study.minimum_pay:
        text = gettext("at least %(amount)s once you have seen one example")
        promises.append(text % {"amount": money(study.minimum_pay, currency)})
    # Translators: two promises of pay, one after the other.
    both = gettext("%(first)s; %(second)s")
    return reduce(lambda first, second: both % {"first": first, "second": second}, promises)


def _expected(study: Study, minutes: Sequence[int]) -> str:
    """Return the expected pay with the rate and cap, or "" if no duration is known."""
    if not minutes or not minutes[0]:
        return ""

    def in_words(amount: int) -> str:
        return money(in_currency(amount), study.currency)

    least, longest = (
        in_words(max(for_time(study, timedelta(minutes=each)), cents(study.base_reward)))
        for each in (minutes[0], minutes[-1])
    )
    expected = gettext("%(least)s to %(most)s") % {"least": least, "most": longest}
    values = {
        "expected": least if least == longest else expected,
        "amount": money(study.hourly_rate, study.currency),
    }
    if (most := cap(study)) is None:
        return gettext("about %(expected)s (%(amount)s per hour)") % values
    text = gettext("about %(expected)s (%(amount)s per hour, at most %(most)s per task)")
    return text % {**values, "most": in_words(most)}


def _rate(study: Study) -> str:
    """Return the hourly pay, with the cap, if any."""
    rate, hours, most = money(study.hourly_rate, study.currency), study.max_paid_hours, cap(study)
    if hours is None or most is None:
        return gettext("%(amount)s per hour") % {"amount": rate}
    return ngettext(
        "%(amount)s per hour, for at most %(hours)s hour (%(most)s) per task",
        "%(amount)s per hour, for at most %(hours)s hours (%(most)s) per task",
        # Only exactly one hour is singular: half an hour is "0.5 hours".
        1 if hours == 1 else max(ceil(hours), 2),
    ) % {
        "amount": rate,
        "hours": number_format(f"{hours.normalize():f}"),
        "most": money(in_currency(most), study.currency),
    }
