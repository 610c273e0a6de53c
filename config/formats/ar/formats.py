"""Number format for Arabic with Western digits, as in CLDR (numbering system latn): 1,234.50."""

DECIMAL_SEPARATOR = "."
THOUSAND_SEPARATOR = ","
