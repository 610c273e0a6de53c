"""Filters for sentences in documents (templates/documents/*.txt)."""

from django import template

from analysis.documents.wording import count, listed

register = template.Library()
register.filter("count", count)
register.filter("listed", listed)


@register.filter("format")
def formatted(value: object, specification: str) -> str:
    return format(value, specification)
