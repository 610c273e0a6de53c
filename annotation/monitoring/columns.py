"""What the study's page says of its progress: each number, and each column, with its meaning."""

from tasks.columns import Column

FACTS = {
    fact.name: fact
    for fact in [
        Column(
            "completed",
            "Seats completed",
            "Seats of people who completed and are in the analysis, of all seats of the study.",
        ),
        Column(
            "now",
            "At work now",
            "People with a seat who were active in the last ten minutes.",
        ),
        Column(
            "waiting",
            "Waiting for a decision",
            "Annotators who finished the training or screening step and continue only when an owner"
            " decides so.",
        ),
        Column(
            "left",
            "Work left",
            "Over all scenarios: open seats (free, or at work) times the median active time of the"
            " people who completed the scenario; where nobody has, times the study's estimate."
            " Somebody at work counts as if they had just begun.",
        ),
        Column(
            "flags",
            "Quality flags",
            "People who completed, in the analysis or not, whose behaviour raises quality flags:"
            " how many have at least one flag, and how many have each. Nothing follows from a flag"
            " by itself. The page behind the link has who is still at work, too.",
        ),
        Column(
            "earned",
            "Earned",
            "All entries of the ledger, of people. What people earned who expired or returned is"
            " entered when a payment is prepared.",
        ),
        Column(
            "committed",
            "Committed",
            "Earned, not yet paid and not held back, plus for each open seat the larger of the"
            " base reward and the hourly rate times the estimated minutes.",
        ),
    ]
}

# Of Seats; the page has the task before these, and a link to the preview behind them.
SEATS = [
    Column("shots", "Shots", get=lambda row: row.scenario.shots),
    Column("split", "Training split", get=lambda row: row.scenario.split_number or "–"),
    Column(
        "seats",
        "Seats",
        "Seats of people in this scenario: those of the design and those added since.",
    ),
    Column("completed", "Completed", "Seats of people who completed and are in the analysis."),
    Column(
        "working",
        "At work",
        "Seats of people who have begun and not ended, whether they are here now or not.",
    ),
    Column("free", "Free", "Seats that a person can take."),
    Column(
        "time_left",
        "Work left",
        "Open seats (at work and free; of a closed study only at work) times the median active"
        " time of the people who completed, or the study's estimate.",
    ),
    Column(
        "simulated",
        "Simulated",
        "Seats taken by simulated annotators, who have seats of their own.",
    ),
]

# Of a Funnel.
FUNNEL = [
    Column("arrived", "Arrived", "Took a seat, with those who then declined."),
    Column("consented", "Consented", "Agreed to the consent text."),
    Column(
        "trained",
        "Trained",
        "Answered the last example of the training or screening step; without one, were shown the"
        " first example.",
    ),
    Column(
        "qualified",
        "Qualified",
        "May do the annotation step: trained, and not screened out by the study's rule nor waiting"
        " for it.",
    ),
    Column("completed", "Completed", "Answered the last example."),
    Column(
        "analysed",
        "Analysed",
        "Completed and not excluded: they hold a seat and count in the tables.",
    ),
    Column(
        "declined",
        "Declined",
        "Did not agree to the consent text; nothing but this count is kept of them.",
    ),
    Column(
        "at_work",
        "Live",
        "Hold a seat and have not ended: reading, working, waiting, or between two parts.",
    ),
    Column(
        "screened_out",
        "Screened out",
        "Ended by the study's rule or by the questions about the instructions; paid.",
    ),
    Column("returned", "Returned", "Returned their place on the platform."),
    Column(
        "expired",
        "Expired",
        "Did nothing for longer than the study allows; the seat is free again.",
    ),
    Column(
        "refused",
        "Prior exposure",
        "Had met the task elsewhere before the first example was shown.",
    ),
    Column(
        "withdrawn",
        "Withdrawn",
        "Erased their answers; they stay counted as far as they came.",
    ),
    Column(
        "rejected",
        "Rejected",
        "Rejected on the platform before they had completed: not paid, and they cannot go on.",
    ),
]
