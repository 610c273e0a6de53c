"""The addresses of the fake Prolific: its API, as the reference has them, and its pages."""

from django.urls import URLPattern, include, path

from annotation.simulation.fake_prolific import api, pages
from annotation.simulation.fake_prolific.api import by_method, calls

STUDIES = [
    path("studies/", by_method(GET=api.studies, POST=calls("create_study", "data", status=201))),
    path(
        "studies/<str:key>/",
        by_method(
            GET=calls("study"), PATCH=calls("change_study", "data"), DELETE=calls("delete_study")
        ),
    ),
    path("studies/<str:key>/transition/", by_method(POST=calls("transition_study", "data"))),
    path("studies/<str:key>/clone/", by_method(POST=calls("clone_study", "data"))),
    path("studies/<str:key>/test-study/", by_method(POST=api.try_study)),
    path("researchers/participants/", by_method(POST=calls("create_tester", "data", status=201))),
    path("studies/<str:key>/cost/", by_method(GET=api.cost)),
    path("studies/<str:key>/access-details-progress/", by_method(GET=calls("progress"))),
    path("studies/<str:key>/submissions/", by_method(GET=calls("submissions", "query"))),
    path("studies/<str:key>/submissions/counts/", by_method(GET=calls("counts"))),
    path("studies/<str:key>/screen-out-submissions/", by_method(POST=calls("screen_out", "data"))),
    path("projects/<str:key>/studies/", by_method(GET=api.project_studies)),
    path("projects/<str:project>/studies/<str:key>/", by_method(DELETE=api.delete_from_project)),
    path("filters/", by_method(GET=calls("filters"))),
    path("eligibility-count/", by_method(POST=calls("eligible", "data"))),
]
SUBMISSIONS = [
    path("submissions/", by_method(GET=api.submissions)),
    # Before the addresses with an id: these words are none.
    path(
        "submissions/bonus-payments/", by_method(POST=calls("create_bonuses", "data", status=201))
    ),
    path("submissions/bulk-approve/", by_method(POST=calls("bulk_approve", "data"))),
    path("submissions/<str:key>/", by_method(GET=calls("submission"))),
    path(
        "submissions/<str:key>/transition/", by_method(POST=calls("transition_submission", "data"))
    ),
    path("submissions/<str:key>/request-return/", by_method(POST=calls("request_return", "data"))),
    path("bulk-bonus-payments/<str:key>/pay/", by_method(POST=calls("pay_bonuses", status=202))),
    path("study-cost-calculator/", by_method(POST=calls("calculate_cost", "data"))),
    path("reward-recommendations/", by_method(GET=api.recommendations)),
]
PEOPLE = [
    path("users/me/", by_method(GET=calls("me"))),
    path(
        "workspaces/",
        by_method(GET=calls("workspaces"), POST=calls("create_workspace", "data", status=201)),
    ),
    path(
        "workspaces/<str:key>/",
        by_method(GET=calls("workspace"), PATCH=calls("change_workspace", "data")),
    ),
    path("workspaces/<str:key>/balance/", by_method(GET=calls("balance"))),
    path(
        "workspaces/<str:key>/projects/",
        by_method(GET=calls("projects"), POST=calls("create_project", "data", status=201)),
    ),
    path(
        "projects/<str:key>/",
        by_method(GET=calls("project"), PATCH=calls("change_project", "data")),
    ),
    path(
        "participant-groups/",
        by_method(GET=calls("groups", "query"), POST=calls("create_group", "data", status=201)),
    ),
    path(
        "participant-groups/<str:key>/",
        by_method(
            GET=calls("group"),
            PATCH=calls("change_group", "data"),
            DELETE=calls("delete_group", status=204),
        ),
    ),
    path(
        "participant-groups/<str:key>/participants/",
        by_method(GET=api.members, POST=api.members, DELETE=api.members),
    ),
    path(
        "messages/",
        by_method(GET=calls("messages", "query"), POST=calls("send_message", "data", status=204)),
    ),
    path("messages/unread/", by_method(GET=calls("unread"))),
    path("messages/bulk/", by_method(POST=calls("send_messages", "data", status=204))),
    path("messages/participant-group/", by_method(POST=calls("send_to_group", "data", status=204))),
]
HOOKS = [
    path("hooks/event-types/", by_method(GET=calls("event_types"))),
    path(
        "hooks/secrets/",
        by_method(GET=calls("secrets", "query"), POST=calls("create_secret", "data", status=201)),
    ),
    path(
        "hooks/subscriptions/", by_method(GET=calls("subscriptions", "query"), POST=api.subscribe)
    ),
    path(
        "hooks/subscriptions/<str:key>/",
        by_method(
            GET=calls("subscription"),
            POST=calls("confirm", "data"),
            PATCH=calls("change_subscription", "data"),
            DELETE=calls("unsubscribe", status=204),
        ),
    ),
    path("hooks/subscriptions/<str:key>/events/", by_method(GET=api.events)),
]
API: list[URLPattern] = [*STUDIES, *SUBMISSIONS, *PEOPLE, *HOOKS]

urlpatterns = [
    path("api/v1/", include(API)),
    path("", by_method(GET=pages.home)),
    path(".well-known/study/jwks.json", by_method(GET=calls("jwks"))),
    path("submissions/complete", by_method(GET=pages.complete)),
    path("fake/books", by_method(GET=calls("books"))),
    path("fake/arrive", by_method(POST=pages.arrive)),
    path("fake/write", by_method(POST=calls("write", "data"))),
    path("fake/return_submission", by_method(POST=pages.of_session("return_submission"))),
    path("fake/time_out", by_method(POST=pages.of_session("time_out"))),
    path("fake/advance", by_method(POST=pages.advance)),
    path("fake/mode", by_method(POST=pages.mode)),
    path("fake/flush_webhooks", by_method(POST=pages.flush_webhooks)),
]
