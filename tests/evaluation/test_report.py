"""Tables, pictures, and the tests between systems that go with them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from empathia.core.errors import BadInput
from empathia.core.replies import SystemReply
from empathia.core.taxonomy import EMOTIONS
from empathia.core.types import Context, Score
from empathia.evaluation import plots
from empathia.evaluation.comparison import NotAligned, compare_systems
from empathia.evaluation.report import as_json, latex, markdown, write_report
from empathia.evaluation.scorer import score_replies
from empathia.evaluation.significance import holm

SYSTEMS = {
    "toy_a": [Score("bleu_4", 2.5, "n:4|tok:none", 2.0, 3.0), Score("ses", 0.2123, "n:4")],
    "toy_b": [Score("bleu_4", 1.25, "n:4|tok:none")],
}
PNG = b"\x89PNG\r\n\x1a\n"


def test_markdown_holds_values_intervals_and_signatures() -> None:
    text = markdown(SYSTEMS)
    assert text.startswith("| metric | toy_a | toy_b |\n| --- | ---: | ---: |\n")
    assert "| bleu_4 | 2.50 [2.00, 3.00] | 1.25 |" in text
    assert "| ses | 0.212 | – |" in text
    assert text.count("- `bleu_4`: `n:4|tok:none`") == 1


def test_latex_is_escaped() -> None:
    text = latex(SYSTEMS)
    assert r"Metric & toy\_a & toy\_b \\" in text
    assert r"bleu\_4 & 2.50 & 1.25 \\" in text and r"ses & 0.212 & -- \\" in text
    assert text.count("\n") == 8 and "_a" not in re.sub(r"\\_", "", text)


def test_a_report_is_four_files(tmp_path: Path) -> None:
    paths = write_report(tmp_path / "report", SYSTEMS)
    assert [p.name for p in paths] == ["scores.json", "scores.md", "scores.tex", "scores.png"]
    assert json.loads(paths[0].read_text()) == as_json(SYSTEMS)
    assert json.loads(paths[0].read_text())["systems"]["toy_b"] == [
        {"name": "bleu_4", "value": 1.25, "signature": "n:4|tok:none"}
    ]
    assert paths[3].read_bytes().startswith(PNG)


def replies(system: str, texts: list[str], gold: list[str]) -> list[SystemReply]:
    return [
        SystemReply(str(i), system, Context.of("hello"), text, g)
        for i, (text, g) in enumerate(zip(texts, gold, strict=True))
    ]


GOLD = [f"i hope exam number {i} goes very well for you , my friend ." for i in range(60)]


def test_systems_are_compared_whatever_the_order_of_their_files() -> None:
    good = replies("good", GOLD, GOLD)
    poor = replies("poor", ["i do not know what to say about that ."] * 60, GOLD)
    found = compare_systems({"good": good, "poor": poor[::-1]}, embed=lambda ts: np.ones((len(ts), 2)), resamples=200)
    assert [(c.metric, c.first, c.second) for c in found] == [("bleu_4", "good", "poor"), ("ses", "good", "poor")]
    assert found[0].result.difference == pytest.approx(100.0)
    assert found[0].result.p < 0.05 and found[1].result.p == 1.0
    assert [c.p_holm for c in found] == holm([c.result.p for c in found])
    scores = {name: score_replies(own, bootstrap=0) for name, own in (("good", good), ("poor", poor))}
    assert "| bleu_4: good − poor | 100.00 |" in markdown(scores, found)


def test_systems_on_other_contexts_are_not_compared() -> None:
    a = replies("a", GOLD[:3], GOLD[:3])
    with pytest.raises(NotAligned, match="a: id '2' is not in b"):
        compare_systems({"a": a, "b": a[:2]})
    with pytest.raises(NotAligned, match="b: id '2' is not in a"):
        compare_systems({"a": a[:2], "b": a})
    with pytest.raises(NotAligned, match="b: id '0' has another gold reply than in a"):
        compare_systems({"a": a, "b": replies("b", GOLD[:3], GOLD[3:6])})


def test_emotions_in_the_plane(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = plots.emotion_scatter(rng.normal(size=(32, 50)), EMOTIONS, tmp_path / "emotions.png", "toy")
    assert path.read_bytes().startswith(PNG)
    with pytest.raises(BadInput, match="one vector per emotion"):
        plots.emotion_scatter(rng.normal(size=(4, 50)), EMOTIONS, tmp_path / "x.png")
    with pytest.raises(BadInput, match="not a known emotion"):
        plots.emotion_scatter(rng.normal(size=(3, 50)), ["sad", "proud", "blue"], tmp_path / "x.png")


def test_principal_components_find_the_long_axis_and_do_not_flip() -> None:
    rng = np.random.default_rng(0)
    long, short = rng.normal(0, 10, 200), rng.normal(0, 1, 200)
    rows = np.stack([short, -long, np.zeros(200)], axis=1)
    points, shares = plots.principal_components(rows)
    assert abs(np.corrcoef(points[:, 0], long)[0, 1]) > 0.999
    assert shares[0] > 0.98 and shares.sum() == pytest.approx(1)
    again, _ = plots.principal_components(rows[:, ::-1])
    assert again == pytest.approx(points)


@pytest.mark.parametrize("labels", [["sad", "proud"], list(EMOTIONS)])
def test_confusion_matrix(labels: list[str], tmp_path: Path) -> None:
    counts = np.eye(len(labels))
    counts[0] = 0  # a label that never was gold
    assert plots.confusion_matrix(counts, labels, tmp_path / "c.png").read_bytes().startswith(PNG)
    with pytest.raises(BadInput, match="confusion matrix of"):
        plots.confusion_matrix(counts[:1], labels, tmp_path / "c.png")


def test_bars_of_chosen_metrics(tmp_path: Path) -> None:
    assert plots.bar_comparison(SYSTEMS, tmp_path / "b.png", ["ses"], "toy").read_bytes().startswith(PNG)
    with pytest.raises(BadInput, match="nothing to draw"):
        plots.bar_comparison(SYSTEMS, tmp_path / "b.png", ["speed"])
