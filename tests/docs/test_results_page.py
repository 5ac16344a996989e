"""docs/build.py on a made-up board."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from empathia.evaluation.board import Figure, record_all

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import build  # noqa: E402

WHERE = "corpus:empathetic-dialogues|vocabulary:all-900|seed:1|split:test"


def figure(name, value, signature=WHERE, unit="", low=None, high=None):
    return Figure(name, value, unit, signature, "empathia evaluate mime --record x", "0123456789ab", low, high)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    shutil.copy(ROOT / "benchmarks" / "published.json", tmp_path / "benchmarks")
    return tmp_path


def rows(text, first):
    """The table rows of `text` whose first cell is `first`."""
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines()]
    return [row for row in cells if row[0].strip("| ") == first]


def test_an_empty_board_says_so(place):
    assert "The board is empty" in build.results(place)


def test_systems_are_rows_beside_what_was_published(place):
    beam, greedy = WHERE + "|decoder:beam5-max50", WHERE + "|decoder:greedy-max50"
    record_all(
        "empathetic-dialogues",
        [
            figure("mime/perplexity_macro", 36.5, WHERE + "|n:10|averaging:responses", low=35.5, high=37.5),
            figure("mime/perplexity", 39.25, WHERE + "|n:10|averaging:tokens"),
            figure("mime/perplexity_train_vocabulary", 38, "vocabulary:train-800-folded|" + WHERE.replace("all", "x")),
            figure("moel/perplexity", 41, WHERE + "|n:10"),
            figure("mime-beam5/bleu_4", 3.01, beam, "%"),
            figure("mime-greedy/bleu_4", 2.5, greedy, "%"),
            figure("mime-no-mimicry-beam5/bleu_4", 2.75, beam, "%"),
            figure("mime/f1_macro", 33.0),
        ],
        place,
    )
    text = build.results(place)
    predicts, answers = text.split("### What it answers")
    assert rows(predicts, "`mime`")[0][1:4] == ["36.50", "39.25", "38.00"]
    assert rows(predicts, "`moel`")[0][1:3] == ["–", "41.00"]
    assert [row[1] for row in rows(predicts, "*MIME, released output.txt*")] == ["*37.54*"]
    assert "All of ours: corpus empathetic-dialogues, split test" in predicts
    assert rows(answers, "`mime-beam5`")[0][1:] == ["3.01", "decoder beam5-max50"]
    assert rows(answers, "`mime-no-mimicry-beam5`")[0][1] == "2.75"
    order = [answers.index(f"| {label} |") for label in ("`mime-greedy`", "*MIME, Table 2*", "`mime-no-mimicry-beam5`")]
    assert order == sorted(order)
    assert rows(answers, "*MIME, Table 5*")[0][1] == "*2.96*"
    assert "| `mime/f1_macro` | 33.00 |" in text and "[35.50, 37.50]" in text
    assert "Measured by `empathia evaluate mime --record x` at `0123456789ab`." in text


def test_one_system_under_two_conditions_has_two_rows_and_no_figure_is_lost(place):
    figures = [
        figure("mime/perplexity", 39, WHERE + "|n:10"),
        figure("mime/perplexity", 40, WHERE + "|first:5|n:5"),
        figure("mime/perplexity", 41, WHERE.replace("900", "901") + "|n:10"),
    ]
    record_all("empathetic-dialogues", figures, place)
    found = rows(build.results(place), "`mime`")
    assert [row[1] for row in found] == ["39.00 / 41.00", "40.00"]
    assert "vocabulary all-900 / all-901" in found[0][2] and "first 5" in found[1][2]


def test_other_topics_are_plain_tables(place):
    record_all("speed", [figure("mime/training_step", 0.15, "batch:16|threads:2", "ratio")], place)
    text = build.results(place)
    assert "## speed" in text and "| `mime/training_step` | 0.150 ratio |" in text and "details" not in text


def test_a_page_can_be_run_again(tmp_path):
    from snippets import refreshed

    page = tmp_path / "page.md"
    page.write_text("```python\nx = 2\nprint(x)\n```\n\n```text\nold\n```\n\n```python\nprint(x + 1)\n```\nend\n")
    new = "```python\nx = 2\nprint(x)\n```\n\n```text\n2\n```\n\n```python\nprint(x + 1)\n```\nend\n"
    assert refreshed(page) == new
