"""A query whose SQL is written once gives what the same query gives when it is written again."""

import pytest
from django.db import connection, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext

from annotation.models import Participation, Turn
from annotation.models.compiled import CompiledQuery
from annotation.models.participation import LATEST_TURN
from annotation.steps import answering
from annotation.steps.locking import LOCKED
from tests import factories

pytestmark = pytest.mark.django_db


def answered(seat: Participation, times: int) -> Participation:
    for _ in range(times):
        turn = seat.latest_turn()
        fields = factories.fields_for(turn.example, factories.right_texts(turn.example))
        answering.submit(seat.token, turn.pk, fields)
    return seat


@pytest.fixture
def seats(researcher) -> list[Participation]:
    """Two annotators of the test set, after one answer and after two."""
    study = factories.make_study(researcher, factories.make_task(), shots=[0], annotators=2)
    scenario = study.scenarios.get()
    return [answered(factories.seat(scenario), times) for times in (1, 2)]


def test_each_key_gives_the_rows_of_its_own_and_as_they_are_now(seats):
    for seat in (*seats, *reversed(seats)):
        (turn,) = LATEST_TURN.rows(seat.pk)
        assert turn == Turn.objects.filter(participation=seat).latest("pk")
    before = seats[0].latest_turn()
    answered(seats[0], 1)
    assert seats[0].latest_turn().pk > before.pk
    assert LATEST_TURN.rows(0) == []


def test_its_rows_bring_with_them_what_the_query_joins(seats):
    turn = seats[1].latest_turn()
    with CaptureQueriesContext(connection) as asked:
        assert turn.given is None
        assert turn.kept_draft is None
        assert turn.participation.pseudonym == seats[1].pseudonym
    assert len(asked) == 0
    first = Turn.objects.filter(participation=seats[1]).earliest("pk")
    assert turn.first_worked_before == first.worked_before


def test_the_query_is_described_once_and_read_each_time(seats):
    described = []

    def turns(participation: int):
        described.append(participation)
        return Turn.objects.filter(participation=participation).order_by("pk")

    query = CompiledQuery(turns)
    with CaptureQueriesContext(connection) as asked:
        read = [query.rows(seat.pk) for seat in seats]
    assert read == [list(Turn.objects.filter(participation=seat).order_by("pk")) for seat in seats]
    assert (len(described), len(asked)) == (1, 2)


def test_a_request_between_the_sql_and_the_rows_of_another_changes_nothing(seats):
    query = CompiledQuery(lambda pk: Turn.objects.filter(participation=pk).order_by("pk"))
    own = {seat.pk: query.rows(seat.pk) for seat in seats}
    sent: list[tuple[int, ...]] = []

    def between(execute, sql, params, many, context):
        sent.append(params)
        if len(sent) == 1:
            assert query.rows(seats[1].pk) == own[seats[1].pk]
        return execute(sql, params, many, context)

    with connection.execute_wrapper(between):
        assert query.rows(seats[0].pk) == own[seats[0].pk]
    assert sent == [(seats[0].pk,), (seats[1].pk,)]


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_a_lock_outside_of_a_transaction_is_refused_every_time(seats):
    for _ in range(2):
        with pytest.raises(TransactionManagementError):
            LOCKED.rows(seats[0].token)
        with transaction.atomic():
            assert LOCKED.rows(seats[0].token) == [seats[0]]
            assert LOCKED.rows("nobody's") == []
