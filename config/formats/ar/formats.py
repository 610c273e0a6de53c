"""Arabic in Western digits, as CLDR has it (numbering system latn): 1,234.50."""

DECIMAL_SEPARATOR = "."
THOUSAND_SEPARATOR = ","
