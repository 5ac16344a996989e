"""`empathia evidence`, and what stands behind a run that needs evidence when it answers."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from empathia.cli import cli
from empathia.commands.finders import Finder, cause_text
from empathia.core.errors import BadInput, MissingFile
from empathia.core.types import Context, Evidence, Inference

TALK = Context.of("I lost my wallet.", "Oh no!", "And then it rained.")


def test_knowledge_is_asked_about_what_the_speaker_said_of_the_causes():
    assert cause_text(TALK, (0, 1)) == "I lost my wallet."
    assert cause_text(TALK, (1,)) == cause_text(TALK, None) == "I lost my wallet.\nAnd then it rained."


def test_what_is_known_is_not_looked_for_and_what_is_missing_is_said_once(tmp_path, monkeypatch):
    monkeypatch.setenv("EMPATHIA_HOME", str(tmp_path))
    monkeypatch.setenv("EMPATHIA_DATA", str(tmp_path / "no corpora"))
    said = []
    find = Finder({"inferences"}, said.append)
    told = Evidence(causes=(0,), inferences=(Inference("xReact", "sad"),))
    assert find([TALK], [told]) == [told] and not said
    for _ in range(2):
        [found] = find([TALK], [Evidence(causes=(0,))])
        assert found.inferences is None
    assert len(said) == 1 and "inferences" in said[0]
    with pytest.raises(MissingFile):
        Finder({"inferences"}, strict=True)([TALK], [Evidence(causes=(0,))])
    with pytest.raises(BadInput, match="cannot be found"):
        Finder({"weather"})


def test_causes_of_a_split_are_written_for_recipes_to_read(tmp_path, monkeypatch):
    monkeypatch.setenv("EMPATHIA_HOME", str(tmp_path))
    monkeypatch.setenv("EMPATHIA_DATA", str(Path(__file__).parents[1] / "data"))
    told = CliRunner().invoke(cli, ["evidence", "causes", "--split", "test", "--limit", "3"], catch_exceptions=False)
    path = tmp_path / "evidence" / "empathetic-dialogues-test.causes.jsonl"
    assert told.exit_code == 0 and str(path) in told.output
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(rows) == 3 and all("#" in row["id"] and isinstance(row["causes"], list) for row in rows)
    again = CliRunner().invoke(cli, ["evidence", "causes", "--split", "test", "--limit", "3"], catch_exceptions=False)
    assert "3 of 3" in again.output
