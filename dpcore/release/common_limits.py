"""Public limits of common measurements, by the name of the column and never by its values.

The limits are wider than any value that can occur in a person or that a device can report, so
they are a starting point for a data dictionary. The data holder checks them.
"""

from __future__ import annotations

import re

Limits = tuple[float, float]

# Pattern of a column's name in lower case, with its limits. The first match counts, so names with
# a unit come before the same names without one.
_COMMON: tuple[tuple[str, Limits], ...] = (
    (r"\bsystolic|\bsbp\b|\bsysbp", (50, 300)),
    (r"\bdiastolic|\bdbp\b|\bdiabp", (20, 200)),
    (r"blood pressure|\bmmhg\b|\bbp\b", (20, 300)),
    (r"\bbmi\b|body mass index", (8, 100)),
    (r"heart rate|\bpulse\b|\bbpm\b|\bhr\b", (20, 300)),
    (r"respirat\w* rate|\bbreaths\b", (0, 80)),
    (r"\bspo2\b|oxygen saturation|\bsao2\b", (40, 100)),
    (r"temperature.*\bf\b|fahrenheit", (80, 115)),
    (r"body temp|temperature|\bcelsius\b", (25, 45)),
    (r"\bhba1c\b|glycated", (2, 25)),
    (r"glucose.*mmol|blood sugar.*mmol", (0, 60)),
    (r"glucose|blood sugar", (0, 1000)),
    (r"\bhdl\b", (0, 200)),
    (r"\bldl\b", (0, 500)),
    (r"cholesterol.*mmol", (0, 20)),
    (r"cholesterol", (0, 700)),
    (r"triglycerides?", (0, 3000)),
    (r"creatinine.*mol", (0, 2000)),
    (r"creatinine", (0, 30)),
    (r"h(a)?emoglobin|\bhgb\b", (0, 30)),
    (r"h(a)?ematocrit|\bhct\b", (0, 80)),
    (r"platelets?", (0, 2000)),
    (r"white (blood )?cell|leu[ck]ocytes?|\bwbc\b", (0, 500)),
    (r"\bsodium\b", (90, 200)),
    (r"\bpotassium\b", (0, 12)),
    (r"\bcrp\b|c[- ]reactive", (0, 600)),
    (r"\balbumin\b", (0, 80)),
    (r"waist|\bhip\b", (20, 300)),
    (r"(height|stature).*\bm\b", (0.2, 2.8)),
    (r"height|stature", (20, 280)),
    (r"weight.*\blbs?\b", (0, 1500)),
    (r"weight|body mass", (0, 700)),
    (r"year of birth|birth year", (1900, 2030)),
    (r"\bage\b", (0, 120)),
    (r"sleep", (0, 24)),
    (r"\bsteps\b", (0, 100_000)),
    (r"cigarettes?", (0, 100)),
    (r"pregnanc|number of children|\bparity\b", (0, 30)),
    (r"\bmonth\b", (1, 12)),
    (r"\bweekday\b|day of week", (0, 7)),
    (r"percent|%|\bpct\b", (0, 100)),
    (r"likert|agreement", (1, 7)),
)
_SEPARATORS = re.compile(r"[_.\-/()\[\]]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def find_common_limits(column: str) -> Limits | None:
    """Return public limits of a measurement with this name, or None if the name is not known."""
    name = _SEPARATORS.sub(" ", _CAMEL.sub(" ", column)).casefold()
    for pattern, limits in _COMMON:
        if re.search(pattern, name):
            return limits
    return None
