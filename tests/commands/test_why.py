"""What `--why` shows of a reply's evidence."""

from io import StringIO

from rich.console import Console

from empathia.commands.why import print_why
from empathia.core.types import Evidence, Inference, Reply


def shown(**evidence):
    out = StringIO()
    print_why(Reply("Oh no.", evidence=Evidence(**evidence)), Console(file=out, width=100))
    return out.getvalue().splitlines()


def test_what_is_known_stands_in_one_line_for_each_relation():
    tails = [("xReact", "sad"), ("xWant", "to rest"), ("xReact", "hurt")]
    assert shown(inferences=tuple(Inference(*tail) for tail in tails)) == [
        "knows xReact sad, hurt",
        "knows xWant to rest",
    ]


def test_mechanisms_are_a_plan_even_where_no_intent_was_foreseen():
    assert shown(mechanisms={"emotional_reaction": 0.9, "exploration": 0.25}) == [
        "plan  emotional reaction 0.9, exploration 0.2"
    ]
