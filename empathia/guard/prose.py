"""Whether a message is English prose at all.

Code, addresses and other languages mean nothing to what was learned from English sentences, and it would rather be
afraid of them: «SELECT * FROM users» sounded like despair. So only the rules read those.
"""

from __future__ import annotations

import re

#: words that hold English sentences together; this share of a message's words must be such
_HOLDING = frozenset(
    """a about again all always am an and any are as at be because been being but by can could did do does done
    down even ever every feel for from get go going gone got had has have he her here him his how i if in into
    is it its just know like may me might more must my myself never no nobody not nothing now of off on one only
    or our out over she should so some still than that the their them then there these they think this those to
    too up us very want was we were what when where who why will with would you your""".split()  # noqa: SIM905
)
FEWEST = 0.15
#: marks of code and markup, and the share of a message's characters at which it is that
_MARKS = re.compile(r"[{}<>=;_|\\/]")
MOST = 0.05


def is_prose(message: str, plain_text: str) -> bool:
    """`plain_text` is the message as `normalise.plain` makes it."""
    words = [word for word in plain_text.split() if word not in (".", ",")]
    holding = sum(word in _HOLDING for word in words)
    return holding >= FEWEST * len(words) and len(_MARKS.findall(message)) <= MOST * len(message)
