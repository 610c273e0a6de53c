"""Pay a study's due ledger entries through Prolific, and list the rest for manual payment."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation import key_check
from annotation.models import Study
from annotation.pay import ledger
from annotation.payout import batches
from annotation.payout import payments as payout
from annotation.prolific.accounts import client_of
from annotation.prolific.errors import ProlificError
from annotation.prolific.sync import sync


class Command(BaseCommand):
    help = (
        "Settle earnings, approve submissions and pay bonuses. You can run this command again:"
        " no payment is made twice."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study")
        parser.add_argument("--dry-run", action="store_true", help="only show what is due")

    def handle(self, *args: Any, **options: Any) -> None:
        key_check.require_for_command()
        study = Study.objects.filter(name=options["study"]).first()
        if study is None:
            raise CommandError(f"The study {options['study']} does not exist.")
        if options["dry_run"]:
            self._dry_run(study)
            return
        client, problems = None, []
        if there := study.prolific_studies.exclude(external_id=None).first():
            try:
                client = client_of(there, patient=True)
                problems = sync(study, client).problems
            except ProlificError as error:
                raise CommandError(f"Nothing was paid: {error}") from None
        sentences = payout.pay_all(study, None, client)
        for sentence in sentences or ["Nothing is due through Prolific."]:
            self.stdout.write(sentence)
        for problem in problems:
            self.stderr.write(problem)
        by_hand = study.payment_batches.filter(method="hand", state="prepared")
        for batch in by_hand:
            amount = ledger.in_currency(batches.total(batch))
            self.stdout.write(f"batch {batch.pk}: {amount} {study.currency} to pay manually")
        if any("NOT PAID" in sentence for sentence in sentences):
            raise CommandError("Not everything was paid. Run the command again.")

    def _dry_run(self, study: Study) -> None:
        """Print ledger entries not yet in a batch. Annotators who may still return are left out."""
        for entry in batches.unpaid(study):
            method, _study = batches.payout_route(entry)
            self.stdout.write(
                f"{entry.participation} {entry.amount} {entry.currency}"
                f" {entry.get_kind_display()}: {method or 'not yet'}"
            )
        self.stdout.write("Nothing was paid.")
