"""schemathesis over the OpenAPI document: thousands of requests, right and wrong ones, and no answer of 500 or more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance
from serve_house import House, services, serving
from serve_listeners import Echo, Plain

from empathia.core.types import Context, Evidence
from empathia.serve import Limits

QUICK, THOROUGH = 25, 1300
#: rules that JSON Schema cannot tell (the last message is the user's) make us refuse some bodies that fit it
_NOT = [positive_data_acceptance]


def feeling(context: Context) -> Evidence:
    return Evidence(emotion={"sad": 1.0}, polarity=0.1, causes=(0,), cause_words=((0, 0, 1),), sentiment=-0.5)


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    found = services(Echo(), Plain(), perceive=feeling, embed=lambda texts: np.ones((len(texts), 4), np.float32))
    with serving(found, Limits(parallel=4, waiting=1000)) as house:
        yield house


def fuzz(house: House, examples: int) -> Counter[int]:
    """Each operation with `examples` generated requests of each kind; returns how often which status was seen."""
    schema = schemathesis.openapi.from_url(f"{house.url}/openapi.json")
    seen: Counter[int] = Counter()
    for mode in schemathesis.GenerationMode:
        for result in schema.get_all_operations():
            operation = result.ok()
            if mode is schemathesis.GenerationMode.NEGATIVE and operation.method != "post":
                continue  # nothing to get wrong

            @settings(
                max_examples=examples,
                deadline=None,
                database=None,
                derandomize=True,
                phases=(Phase.generate,),
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def check(case):
                response = case.call(timeout=60)
                seen[response.status_code] += 1
                large = [negative_data_rejection] if response.status_code == 413 else []  # refused, for another reason
                case.validate_response(response, excluded_checks=[*_NOT, *large])

            check()
    return seen


def test_a_few_hundred_requests(house):
    seen = fuzz(house, QUICK)
    assert sum(seen.values()) >= 200 and not [status for status in seen if status >= 500], seen
    assert seen[200] and seen[400]


@pytest.mark.slow
def test_ten_thousand_requests(house):
    seen = fuzz(house, THOROUGH)
    assert sum(seen.values()) >= 10_000 and not [status for status in seen if status >= 500], seen
    assert house.desk.slots.busy == 0 and house.desk.slots.queued == 0
    assert house.reply("still well?").status_code == 200
