"""So many replies a minute for each key, or for each address where there are no keys."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from .errors import Problem

#: callers remembered; the one not seen for longest is forgotten first
_MOST_CALLERS = 10_000


class Rate:
    """A bucket per caller that holds a minute's worth and fills again evenly."""

    def __init__(self, a_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = a_minute, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # left, and when

    def take(self, caller: str, count: int = 1) -> None:
        """Count a request for `count` replies, or refuse it and say when it would be taken."""
        if not self._most:
            return
        now = self._clock()
        left, then = self._buckets.pop(caller, (float(self._most), now))
        left = min(self._most, left + (now - then) * self._most / 60)
        wanted = min(count, self._most)
        enough = left >= wanted
        self._buckets[caller] = (left - wanted if enough else left, now)
        if len(self._buckets) > _MOST_CALLERS:
            self._buckets.popitem(last=False)
        if not enough:
            wait = math.ceil((wanted - left) * 60 / self._most)
            raise Problem(429, f"at most {self._most} replies a minute", f"try again in {wait} s", retry_after=wait)
