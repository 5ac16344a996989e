import json

import pytest

from empathia.core.errors import BadFile
from empathia.core.replies import SystemReply, read_replies, write_replies
from empathia.core.types import Context

GOOD = {"id": "1", "system": "s", "context": [{"speaker": "speaker", "text": "hm"}], "reply": "oh"}


def test_replies_survive_a_round_trip(tmp_path):
    rows = [
        SystemReply("1", "s", Context.of("I lost it"), "Oh no!", "Where?", "sad"),
        SystemReply("2", "s", Context.of("ü\u2028"), ""),
    ]
    assert write_replies(tmp_path / "r.jsonl", rows) == 2
    assert read_replies(tmp_path / "r.jsonl") == rows


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([], "holds no replies"),
        (["{"], "line 1, column"),
        (["[1]"], "line 1: expected a JSON object"),
        ([json.dumps(GOOD), json.dumps(GOOD)], "line 2, column id: id '1' is also on line 1"),
        ([json.dumps({**GOOD, "reply": 3})], "line 1, column reply"),
        ([json.dumps({**GOOD, "context": []})], "line 1, column context"),
        ([json.dumps({**GOOD, "context": [{"speaker": "bob", "text": "x"}]})], "speaker or listener"),
        ([json.dumps({**GOOD, "gold": 1})], "line 1, column gold"),
    ],
)
def test_a_bad_line_is_named(tmp_path, lines, told):
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join(lines))
    with pytest.raises(BadFile) as caught:
        read_replies(path)
    assert told in str(caught.value)


def test_bytes_that_are_not_utf8(tmp_path):
    (tmp_path / "r.jsonl").write_bytes(b'{"id": "\xff"}\n')
    with pytest.raises(BadFile, match="line 1, column 9: not UTF-8"):
        read_replies(tmp_path / "r.jsonl")
