"""Evidence: read from the files that a recipe names, written so that it can be stopped, found when a run answers."""

import json

import pytest

torch = pytest.importorskip("torch")

from empathia.core.errors import BadFile, MissingFile  # noqa: E402
from empathia.core.types import Context, Evidence, Exemplar, Inference  # noqa: E402
from empathia.corpora import load  # noqa: E402
from empathia.training.evidence import CHUNK, FIELDS, file_of, with_evidence, write_evidence  # noqa: E402
from empathia.training.prepare import read_examples  # noqa: E402
from empathia.training.recipe import Data, Recipe  # noqa: E402

CORPUS = "empathetic-dialogues"
HURT = (Inference("xReact", "hurt"), Inference("xReact", "sad"), Inference("xWant", "to rest"))


def tell(contexts, known):
    return [one.with_(inferences=HURT) for one in known]


def enriched(home, split):
    """As `empathia enrich` would write it, with labels of our own."""
    rows = []
    for dialogue in load(CORPUS, split):
        turns = [
            {
                "speaker": turn.speaker,
                "text": turn.text,
                "label": "sad" if i % 2 == 0 else "consoling",
                "sentiment": 0.5,
            }
            for i, turn in enumerate(dialogue.turns)
        ]
        for i, turn in enumerate(turns):
            if i % 2:
                turn["mechanisms"] = {"emotional_reaction": 2, "interpretation": 0, "exploration": 1}
            else:
                turn["evidence"] = {"causes": [0]}
        rows.append(json.dumps({"id": dialogue.id, "turns": turns}))
    path = home / "enriched" / f"{CORPUS}-{split}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(rows) + "\n")
    return path


def test_what_was_enriched_is_evidence_and_of_the_reply_gold(home):
    enriched(home, "train")
    plain, told = read_examples(Data(), "train"), read_examples(Data(evidence=("enriched",)), "train")
    assert [e.id for e in plain] == [e.id for e in told] and plain[0].evidence == Evidence()
    longest = max(told, key=lambda e: len(e.context.turns))
    assert longest.evidence.causes == (0,)
    assert longest.evidence.turn_labels == ("sad", "consoling", "sad", "consoling", "sad")[: len(longest.context.turns)]
    assert (longest.gold.intent, longest.gold.sentiment) == ("consoling", 0.5)
    assert longest.gold.mechanisms["emotional_reaction"] == 2
    assert {e.gold.reply for e in plain} == {e.gold.reply for e in told}


def test_every_field_survives_its_file(home):
    examples = read_examples(Data(), "valid")[:3]
    full = Evidence(
        causes=(0, 2), turn_labels=("sad", "consoling"), inferences=HURT, exemplars=(Exemplar("How sad.", score=0.5),)
    )
    for name in FIELDS:
        path = home / f"{name}-{{split}}.jsonl"
        given = str(path).replace("{split}", "valid")
        write_evidence(examples, name, file_of(given, CORPUS, "valid"), lambda contexts, known: [full] * len(contexts))
        [first, *_] = with_evidence(examples, [str(path)], CORPUS, "valid")
        assert getattr(first.evidence, name) == getattr(full, name), name


def test_a_stopped_writer_goes_on_and_later_names_win(home, tmp_path):
    examples = read_examples(Data(), "train") * (1 + 2 * CHUNK // len(read_examples(Data(), "train")))
    path, asked = tmp_path / "inferences.jsonl", []

    def stops(contexts, known):
        if asked:
            raise KeyboardInterrupt
        asked.extend(contexts)
        return tell(contexts, known)

    with pytest.raises(KeyboardInterrupt):
        write_evidence(examples, "inferences", path, stops)
    part = tmp_path / "inferences.jsonl.part"
    part.write_bytes(part.read_bytes()[:-5])  # a line that a kill has cut off
    assert not path.exists()
    assert write_evidence(examples, "inferences", path, tell) == CHUNK - 1
    assert len(path.read_text().splitlines()) == len(examples) and not part.exists()
    assert write_evidence(examples, "inferences", path, stops) == len(examples)
    with pytest.raises(BadFile, match="other examples"):
        write_evidence(examples[1:], "inferences", path, tell)
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"id": examples[0].id, "inferences": {"Causes": ["rain"]}}) + "\n")
    [first, second] = with_evidence(examples[:2], [str(path), str(other)], CORPUS, "train")
    assert first.evidence.inferences == (Inference("Causes", "rain"),) and second.evidence.inferences == HURT


def test_missing_and_broken_files_say_what_to_do(home, tmp_path):
    with pytest.raises(MissingFile) as missing:
        read_examples(Data(evidence=("enriched",)), "train")
    assert "empathia enrich" in str(missing.value.hint)
    with pytest.raises(MissingFile) as missing:
        read_examples(Data(evidence=("inferences",)), "train")
    assert "empathia evidence inferences" in str(missing.value.hint)
    broken = tmp_path / "broken.jsonl"
    for line in ('{"causes": [0]}', '{"id": "1", "causes": ["first"]}', '{"id": "1", "inferences": ["sad"]}'):
        broken.write_text(f'{{"id": "0"}}\n{line}\n')
        with pytest.raises(BadFile) as bad:
            read_examples(Data(evidence=(str(broken),)), "train")
        assert "line 2" in str(bad.value)


def test_a_run_made_before_an_option_existed_goes_on(home, recipe, tmp_path):
    """New options with their defaults change no recipe: the folder is still this recipe's."""
    from empathia.training.session import _claim

    made = Recipe.load(recipe("mime"))
    lines = made.dump().splitlines()
    old = [line for line in lines if not line.startswith(("evidence =", "diversity =", "frequencies ="))]
    assert len(old) == len(lines) - 3
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "config.toml").write_text("\n".join(old) + "\n")
    _claim(folder, made, fresh=False)
    assert Recipe.load(folder / "config.toml") == made


def test_imagine_trains_on_evidence_and_answers_with_and_without_it(home, recipe):
    from empathia.decoding.contract import Decoding
    from empathia.training.measure import generate, predictions, teacher_forced_scores
    from empathia.training.prepare import read_split
    from empathia.training.responder import RunResponder
    from empathia.training.run import open_run
    from empathia.training.session import train

    for split in ("train", "valid", "test"):
        enriched(home, split)
        examples = read_examples(Data(evidence=("enriched",)), split)
        write_evidence(examples, "inferences", file_of("inferences", CORPUS, split), tell)
    path = recipe("imagine", epochs=2)
    text = path.read_text().replace("[data]", '[data]\nevidence = ["enriched", "inferences"]\nvocabulary = "all"')
    path.write_text(text + "\n[model.reply]\ndiversity = 1.5\n")
    run = open_run(str(train(Recipe.load(path), home / "runs" / "imagine")))
    assert run.model.face.counts_V.any()
    split = read_split(run.recipe, "test", run.vocabulary).first(4)
    assert {"cause", "affect", "behaviour"} <= set(split.encoded[0].seen)
    scores = {s.name: s.value for s in teacher_forced_scores(run, split, predictions(run, split.encoded), "", 0)}
    assert scores["perplexity"] > 1 and scores["perplexity_train_vocabulary"] > 1
    assert len(list(generate(run, split.examples, Decoding(max_length=5)))) == 4
    asked = []

    def find(contexts):
        asked.extend(contexts)
        return [Evidence(causes=(0,), inferences=HURT)] * len(contexts)

    context = Context.of("I lost my keys today.")
    reply = RunResponder(run, Decoding(max_length=5), find).reply(context)
    assert asked == [context] and reply.evidence.inferences == HURT and "find" in reply.timings
    assert set(reply.evidence.mechanisms) == {"emotional_reaction", "interpretation", "exploration"}
    for words in ("I lost my keys today.", "zxqv", "!!!", "hm"):  # no event, no known word, no word at all
        assert RunResponder(run, Decoding(max_length=5)).reply(Context.of(words)).evidence.inferences is None
