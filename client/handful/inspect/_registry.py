"""What Inspect finds by the entry point: `inspect eval handful/participate`."""

from handful.inspect.task import invalid_rate, participate, take_part

__all__ = ["invalid_rate", "participate", "take_part"]
