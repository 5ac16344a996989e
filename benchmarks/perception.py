"""How well and how fast perception sees: the shipped int8 encoders beside the float32 ones they were made from.

    python benchmarks/perception.py [--quality] [--speed] [--only feeling …] [--limit 200] [--record] [--write]

Quality is measured on the test splits (needs EMPATHIA_DATA; float32 also needs the trained encoders under
EMPATHIA_HOME/perception and is left out without them). Speed is given beside eager float32 torch in the same run.
`--write` draws the confusion plots of docs/perception.md, puts the figures of every class into the model card and, with
`--record`, fills the page's tables from the board.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import log_softmax, softmax

from empathia.core.errors import MissingFile
from empathia.core.files import atomic, read_json, write_json
from empathia.core.places import home, shipped
from empathia.core.taxonomy import EMOTIONS, EMOTIONS_AND_INTENTS, LEVELS, MECHANISMS
from empathia.core.types import Context, Score
from empathia.corpora import load
from empathia.evaluation import board
from empathia.evaluation.accuracy import accuracy
from empathia.evaluation.calibration import calibration_error
from empathia.evaluation.classification import classification, confusion
from empathia.evaluation.plots import confusion_matrix
from empathia.evaluation.report import number
from empathia.evaluation.signature import sign
from empathia.evaluation.significance import bootstrap_mean, bounded
from empathia.perception import Perception
from empathia.perception.enrich import version_of
from empathia.perception.perception import DECISION, levels
from empathia.perception.sentiment import sentiment

PAGE = Path(__file__).parents[1] / "docs" / "perception.md"
PICTURES = PAGE.parent / "perception"
BEGIN, END = "<!-- made by benchmarks/perception.py --record --write -->", "<!-- end -->"
MEASURED = ("feeling", "surprise", "utterance", "mechanisms", "cause")


@dataclass(frozen=True)
class Goal:
    """A row of the table in docs/perception.md: what was published, what must be reached, and what we aim at."""

    title: str
    published: str
    must: float
    aim: float | None = None
    at_most: bool = False  # else at least

    def met(self, value: float) -> bool:
        return value <= self.must if self.at_most else value >= self.must


GOALS = {
    "emotion_top_1": Goal(
        "32 emotions from the context, top-1 %", "IMAGINE 39.6; MIME 34; STRIDE-ED (a large model) 57.3", 49, 58
    ),
    "emotion_top_5": Goal("… top-5 %", "MIME 77", 82, 88),
    "emotion_ece": Goal("… calibration error (ECE, 15 bins)", "–", 0.08, 0.04, at_most=True),
    "reply_f1_weighted": Goal("emotion/intent of the reply to come, weighted F1 %", "MEED2 28.6", 29, 33),
    "utterance_accuracy": Goal("41 emotions and intents of an utterance, accuracy %", "RoBERTa-base 65.9", 60, 66),
    "emotional_reaction_accuracy": Goal("emotional reaction, three levels, accuracy %", "LEMPEx 83.0", 78, 83),
    "interpretation_accuracy": Goal("interpretation, accuracy %", "LEMPEx 84.5", 80, 85),
    "exploration_accuracy": Goal("exploration, accuracy %", "LEMPEx 94.0", 91, 94),
    "cause_f1": Goal("causes, RECCON-DD, positive F1 %", "RoBERTa-base about 64", 55, 64),
    "bulk_ratio": Goal("sentences in bulk, times eager float32 torch", "–", 2),
}
#: what else the page shows
MORE = {
    "polarity_accuracy": "polarity of contexts whose emotion has one, accuracy %",
    "surprised_positive": "surprised contexts seen as positive, %",
    "surprised_agrees_with_vader": "… whose polarity agrees with VADER's reading of the situation, %",
    "surprised_fixed_group_agrees": "… if all surprises counted as positive, as MIME has it, %",
    "surprised_own_sentences": "twelve hand-written surprises, half of them bad: told apart, %",
    "cause_f1_of_last_two": "causes, RECCON-DD, positive F1 %, if it were always the turn itself and the one before",
    "cause_words_f1": "cause words, RECCON-DD, F1 over characters %",
    "cause_ed_f1": "cause turns of EmpatheticDialogues, F1 against Gao et al.'s detector %",
    "cause_ed_f1_of_speaker": "… if it were always all of the speaker's turns",
    "cause_ed_agreement": "… turns on which both agree, %",
    "plan_emotional_reaction_auc": "emotional reaction of the reply foreseen from the context, AUC",
    "plan_interpretation_auc": "interpretation foreseen, AUC",
    "plan_exploration_auc": "exploration foreseen, AUC",
    "dialogue": "everything about one conversation of three turns and a reply, one core, ms",
    "bulk_sentences": "utterances in bulk, one core, per second",
    "bulk_ratio_sorted": "… times eager float32 torch in batches sorted by length",
}
#: figures of which int8 may lose a point against float32
COMPARED = tuple(name for name in GOALS if name not in ("emotion_ece", "bulk_ratio"))

#: Our own sentences: surprises that please, and surprises that hurt.
GOOD_SURPRISES = (
    "I came home and all my friends were there with a cake! I had no idea.",
    "They drew my ticket in the raffle. I never win anything, and now I have a new bicycle!",
    "My sister flew in from Canada without telling anyone. I cried with joy when I opened the door.",
    "I was sure I had failed, and then the letter said that I passed with distinction!",
    "A stranger paid for my groceries today. I did not expect that at all, it made my week.",
    "Out of the blue my boss gave me a raise this morning!",
)
BAD_SURPRISES = (
    "I opened the door and the whole kitchen was under water. I did not see that coming.",
    "I had no idea that he was married. I found out from a friend yesterday, and I feel sick.",
    "My car was gone from the street this morning. Somebody stole it overnight.",
    "We were told without any warning that the shop closes on Friday and we all lose our jobs.",
    "The vet said that she has only weeks to live. Yesterday she was still running in the garden.",
    "I got a bill of four thousand dollars out of nowhere, and I cannot pay it.",
)


@dataclass(frozen=True)
class Options:
    limit: int | None
    runs: Path
    perception: Perception
    write: bool
    resamples: int = 1000

    def conditions(self, precision: str, corpus: str) -> str:
        first = {"first": self.limit} if self.limit else {}
        return sign(
            corpus=corpus,
            split="test",
            **first,
            precision=precision,
            weights=version_of(self.perception.folder),
            seed=1,
        )


# Quality -----------------------------------------------------------------------------------------------------------


def feeling(options: Options, precision: str) -> list[Score]:
    rows = test_rows(options, "feeling")
    found = logits(options, "feeling", rows, precision)
    where = options.conditions(precision, "empathetic-dialogues")
    gold = [row.labels["emotion"] for row in rows]
    chances = softmax(found["emotion"] / options.perception.calibration.get("emotion", 1.0), axis=1)
    scores = [
        replace(score, name=score.name.replace("accuracy", "emotion"))
        for score in accuracy(chances, gold, (1, 2, 5), where, options.resamples)
    ]
    scores.append(replace(calibration_error(chances, gold, 15, where), name="emotion_ece"))
    said = [i for i, row in enumerate(rows) if row.labels["reply"] >= 0]
    wanted = [EMOTIONS_AND_INTENTS[rows[i].labels["reply"]] for i in said]
    plain = log_softmax(found["reply"][said] / options.perception.calibration.get("reply", 1.0), axis=1)
    corrected = plain + options.perception._feeling.heads[DECISION]
    foreseen = [EMOTIONS_AND_INTENTS[i] for i in corrected.argmax(1)]
    scores += [
        replace(score, name=f"reply_{score.name}")
        for score in classification(wanted, foreseen, where)
        if score.name in ("f1_weighted", "recall_weighted")
    ]
    clear = [i for i, row in enumerate(rows) if row.labels["polarity"] >= 0]
    right = [(found["polarity"][i, 0] > 0) == bool(rows[i].labels["polarity"]) for i in clear]
    scores.append(share("polarity_accuracy", right, where + "|emotions:28 with a polarity", options))
    if precision == "int8":
        predicted = [EMOTIONS[i] for i in chances.argmax(1)]
        told = [EMOTIONS[i] for i in gold]
        keep(options, "emotion of the context", told, predicted, EMOTIONS, "emotions.png")
        keep(options, "emotion or intent of the reply to come", wanted, foreseen, EMOTIONS_AND_INTENTS)
        scores += plan(options, where)
    return scores


def surprise(options: Options, precision: str) -> list[Score]:
    """MIME puts every surprise among the positive emotions. Does polarity tell the good from the bad ones?

    The second opinion is VADER's of the situation, a rough one, beside what MIME's fixed group would get by it.
    """
    if precision != "int8":
        return []
    where = options.conditions(precision, "empathetic-dialogues") + "|first turns of surprised contexts"
    dialogues = [d for d in load("empathetic-dialogues", "test") if d.emotion == "surprised"][: options.limit]
    good = positive(options, [Context(d.turns[:1]) for d in dialogues])
    vader = [sentiment(d.situation or "") for d in dialogues]
    sure = [(g, v > 0) for g, v in zip(good, vader, strict=True) if abs(v) >= 0.05]
    own = positive(options, [Context.of(text) for text in (*GOOD_SURPRISES, *BAD_SURPRISES)])
    right = [p == (i < len(GOOD_SURPRISES)) for i, p in enumerate(own)]
    told = where + "|situations with a sentiment"
    return [
        share("surprised_positive", good, where, options),
        share("surprised_agrees_with_vader", [g == v for g, v in sure], told, options),
        share("surprised_fixed_group_agrees", [v for _, v in sure], told, options),
        share("surprised_own_sentences", right, f"sentences:{len(right)}|benchmarks/perception.py", options),
    ]


def positive(options: Options, contexts: Sequence[Context]) -> list[bool]:
    return [(seen.polarity or 0.0) >= 0.5 for seen in options.perception.contexts(contexts, causes=False)]


def plan(options: Options, where: str) -> list[Score]:
    """Does the context foretell which mechanisms the gold reply shows, as the mechanisms encoder sees them?"""
    if not (options.perception.folder / "mechanisms.onnx").exists():
        return []
    examples = [e for d in load("empathetic-dialogues", "test") for e in d.examples()][: options.limit]
    contexts = [example.context for example in examples]
    seen = [levels(one) for one in options.perception.mechanisms(contexts, [e.gold.reply for e in examples])]
    foreseen = [e.mechanisms or {} for e in options.perception.contexts(contexts, causes=False)]
    scores = []
    for name in MECHANISMS:
        shown = np.array([one[name] > 0 for one in seen])
        chance = np.array([one.get(name, 0.0) for one in foreseen])
        scores.append(Score(f"plan_{name}_auc", auc(chance, shown), sign(where, n=len(shown), shown=int(shown.sum()))))
    return scores


def utterance(options: Options, precision: str) -> list[Score]:
    rows = test_rows(options, "utterance")
    found = logits(options, "utterance", rows, precision)["label"]
    where = options.conditions(precision, "empathetic-intents")
    gold = [row.labels["label"] for row in rows]
    score = accuracy(found, gold, (1,), where, options.resamples)[0]
    told, guessed = ([EMOTIONS_AND_INTENTS[i] for i in some] for some in (gold, found.argmax(1)))
    scores = [replace(score, name="utterance_accuracy")]
    scores += [replace(s, name=f"utterance_{s.name}") for s in classification(told, guessed, where) if "f1" in s.name]
    if precision == "int8":
        keep(options, "emotion or intent of an utterance", told, guessed, EMOTIONS_AND_INTENTS, "labels.png")
    return scores


def mechanisms(options: Options, precision: str) -> list[Score]:
    rows = test_rows(options, "mechanisms")
    found = logits(options, "mechanisms", rows, precision)
    where = options.conditions(precision, "empathy-mental-health") + "|held out:20 % of posts"
    scores = []
    for name in MECHANISMS:
        known = [i for i, row in enumerate(rows) if name in row.labels]
        gold = [rows[i].labels[name] for i in known]
        guessed = found[name][known].argmax(1).tolist()
        right = [g == t for g, t in zip(guessed, gold, strict=True)]
        scores.append(share(f"{name}_accuracy", right, where, options))
        told, said = ([str(level) for level in some] for some in (gold, guessed))
        scores += [replace(s, name=f"{name}_{s.name}") for s in classification(told, said, where) if "f1" in s.name]
        if precision == "int8":
            keep(options, f"level of {name.replace('_', ' ')}", told, said, [str(level) for level in LEVELS])
    return scores


def cause(options: Options, precision: str) -> list[Score]:
    from empathia.perception.training.calibrate import Causes, f1_of_sets
    from empathia.perception.training.cause import f1

    where = options.conditions(precision, "reccon")
    turn = options.perception.calibration.get("cause_threshold", 0.5)
    word = options.perception.calibration.get("cause_word_threshold", 0.5)
    if precision == "fp32":
        scored, missed = float_causes(options)
        return [Score("cause_f1", 100 * f1(scored, missed, turn), sign(where, threshold=turn, unit="%"))]
    asked = Causes(options.perception, "test", options.limit)
    n = len(asked.contexts)
    last_two = [set(range(len(c.turns))[-2:]) for c in asked.contexts]
    return [
        Score("cause_f1", 100 * asked.turn_f1(turn), sign(where, n=n, threshold=turn, unit="%")),
        Score("cause_f1_of_last_two", 100 * f1_of_sets(last_two, asked.gold), sign(where, n=n, unit="%")),
        Score("cause_words_f1", 100 * asked.word_f1(turn, word), sign(where, n=n, threshold=word, unit="%")),
        *second_opinion(options),
    ]


def second_opinion(options: Options) -> list[Score]:
    """The cause turns of EmpatheticDialogues' test split beside those of Gao et al.'s detector."""
    from empathia.perception.training.calibrate import f1_of_sets

    dialogues = {d.id: d for d in load("empathetic-dialogues", "test")}
    theirs = [row for row in load("ed-causes", "test") if row.id in dialogues][: options.limit]
    contexts, wanted = [], []
    for row in theirs:
        turns = dialogues[row.id].turns
        last = max((i for i, turn in enumerate(turns) if turn.speaker == "speaker"), default=0)
        contexts.append(Context(turns[: last + 1]))
        wanted.append({turn for turn in row.turns if turn <= last})
    ours = [set(found["causes"]) for found in options.perception.causes(contexts)]
    told = [{i for i, turn in enumerate(c.turns) if turn.speaker == "speaker"} for c in contexts]
    same = [(i in a) == (i in b) for c, a, b in zip(contexts, ours, wanted, strict=True) for i in range(len(c.turns))]
    where = options.conditions("int8", "ed-causes") + "|up to the speaker's last turn"
    signature = sign(where, n=len(contexts), unit="%")
    return [
        Score("cause_ed_f1", 100 * f1_of_sets(ours, wanted), signature),
        Score("cause_ed_f1_of_speaker", 100 * f1_of_sets(told, wanted), signature),
        share("cause_ed_agreement", same, where + "|turns", options),
    ]


# What the encoders say ---------------------------------------------------------------------------------------------


def test_rows(options: Options, question: str) -> list[Any]:
    from empathia.perception.training.questions import QUESTIONS as KNOWN

    return KNOWN[question](options.perception.reader).held_out("test")[: options.limit]


def logits(options: Options, question: str, rows: Sequence[Any], precision: str) -> dict[str, np.ndarray]:
    """Head → (rows, classes), from the shipped encoder or from the one it was made from."""
    from empathia.perception.training import calibrate

    if precision == "int8":
        return calibrate.logits(options.perception, question, [row.tokens for row in rows])
    import torch

    from empathia.perception.training.finish import opened
    from empathia.perception.training.rows import batches

    network = opened(question, options.runs / question)
    place = {id(row): i for i, row in enumerate(rows)}
    found: dict[str, list[Any]] = {head: [None] * len(rows) for head in calibrate.HEADS[question]}
    with torch.inference_mode():
        for batch in batches(rows, 4096):
            states = network.encoder(batch.ids_BT, batch.listener_BT)
            where = batch.turns_BT == 1 if question == "mechanisms" else batch.there_BT
            for head in found:
                for row, values in zip(batch.rows, network.heads[head](states, where).numpy(), strict=True):
                    found[head][place[id(row)]] = values
    return {head: np.stack(values) for head, values in found.items()}


def float_causes(options: Options) -> tuple[list[tuple[float, int]], int]:
    """(probability, gold) of every candidate turn, and how many causes lie outside the input."""
    import torch

    from empathia.perception.training.cause import CauseTurns
    from empathia.perception.training.finish import opened
    from empathia.perception.training.rows import batches

    network, question = opened("cause", options.runs / "cause"), CauseTurns(options.perception.reader)
    scored: list[tuple[float, int]] = []
    missed = 0
    with torch.inference_mode():
        for batch in batches(question.held_out("test")[: options.limit], 4096):
            chances = question._logits(network.encoder, network.heads, batch)[0].sigmoid().tolist()
            for row, values in zip(batch.rows, chances, strict=True):
                scored += [(v, int(g)) for v, g in zip(values, row.labels["cause"], strict=False)]
                missed += row.labels["missed"]
    return scored, missed


def share(name: str, hits: Sequence[bool], where: str, options: Options) -> Score:
    values = 100.0 * np.asarray(hits, float)
    score = Score(name, float(values.mean()), sign(where, n=len(values), unit="%"))
    return bounded(score, bootstrap_mean(values, options.resamples))


def auc(chance: np.ndarray, shown: np.ndarray) -> float:
    """How often a reply that shows it was foreseen as likelier than one that does not."""
    from scipy.stats import rankdata

    yes = int(shown.sum())
    if not 0 < yes < len(shown):
        return 0.5
    return float((rankdata(chance)[shown].sum() - yes * (yes + 1) / 2) / (yes * (len(shown) - yes)))


def keep(
    options: Options, title: str, gold: list[str], guessed: list[str], labels: Sequence[str], picture: str = ""
) -> None:
    """Every class's figures into the card, and who is taken for whom as a picture."""
    if not options.write:
        return
    from empathia.perception.training.card import CLASSES, write_card

    counts = confusion(gold, guessed, labels)
    hits, true, said = np.diag(counts), counts.sum(1), counts.sum(0)
    rows = {
        label: {
            "precision": round(float(hits[i] / max(1, said[i])), 4),
            "recall": round(float(hits[i] / max(1, true[i])), 4),
            "f1": round(float(2 * hits[i] / max(1, said[i] + true[i])), 4),
            "n": int(true[i]),
        }
        for i, label in enumerate(labels)
    }
    path = options.perception.folder / CLASSES
    write_json(path, (read_json(path) if path.exists() else {}) | {title: rows})
    write_card(options.perception.folder)
    if picture:
        confusion_matrix(counts, labels, PICTURES / picture, f"perception: {title}, test split")


# Speed -------------------------------------------------------------------------------------------------------------


def speed(options: Options) -> list[Score]:
    """Everything about one conversation of three turns, and sentences in bulk, on one thread."""
    import torch

    from empathia.perception.training.finish import opened
    from empathia.perception.training.rows import Batch, Row

    torch.set_num_threads(1)
    perception = Perception(options.perception.folder, threads=1)
    context = Context.of(
        "I moved to a new town last month, and I do not know anybody here.",
        "That sounds hard. Have you met any of your neighbours yet?",
        "Not really. I sit at home every evening and miss my old friends a lot.",
    )
    reply = "I am sorry that you feel so alone. Moving takes a lot of courage, what did you do with your friends?"

    def everything() -> None:
        perception.contexts([context])
        perception.utterances([context.last, reply])
        perception.mechanisms([context], [reply])

    spent = [1000 * timed(everything) for _ in range(5 if options.limit else 30)][2:]
    one = sign(threads=1, turns=3, asked="contexts+causes+labels+mechanisms", runs=len(spent), unit="ms")
    scores = [Score("dialogue", statistics.median(spent), one)]

    texts = [turn.text for d in load("empathetic-dialogues", "test") for turn in d.turns][: options.limit or 2000]
    network = opened("utterance", options.runs / "utterance")

    def eager(texts: Sequence[str], batch: int = 32) -> None:
        rows = [Row(tokens) for tokens in perception.reader.utterances(texts)]
        with torch.inference_mode():
            for start in range(0, len(rows), batch):
                made = Batch.of(rows[start : start + batch])
                network.heads["label"](network.encoder(made.ids_BT, made.listener_BT), made.there_BT).softmax(-1)

    by_length = sorted(texts, key=len)
    rounds: dict[str, list[float]] = {"ours": [], "given": [], "sorted": []}
    perception.utterances(texts[:64])
    eager(texts[:64])
    for _ in range(3):  # side by side, so that a busy machine slows all of them
        rounds["ours"].append(timed(lambda: perception.utterances(texts)))
        rounds["given"].append(timed(lambda: eager(texts)))
        rounds["sorted"].append(timed(lambda: eager(by_length)))
    ours, given, ordered = (statistics.median(rounds[name]) for name in rounds)
    where = sign(threads=1, n=len(texts), corpus="empathetic-dialogues", split="test", question="utterance")
    eagerly = "torch:eager fp32, padded batches of 32"
    return [
        *scores,
        Score("bulk_sentences", len(texts) / ours, sign(where, unit="1/s")),
        Score("bulk_ratio", given / ours, sign(where, eagerly, order="as given", unit="×")),
        Score("bulk_ratio_sorted", ordered / ours, sign(where, eagerly, order="by length", unit="×")),
    ]


def timed(work: Callable[[], object]) -> float:
    """Processor seconds of this process: what other processes take does not count."""
    started = time.process_time()
    work()
    return time.process_time() - started


# All of it ---------------------------------------------------------------------------------------------------------

MEASURES = {"feeling": feeling, "surprise": surprise, "utterance": utterance, "mechanisms": mechanisms, "cause": cause}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quality", action="store_true", help="only the test splits")
    parser.add_argument("--speed", action="store_true", help="only the speed")
    parser.add_argument("--only", nargs="+", choices=MEASURED, default=MEASURED, help="these encoders")
    parser.add_argument("--limit", type=int, help="only the first so many test rows")
    parser.add_argument("--weights", type=Path, default=shipped() / "perception", help="the shipped files")
    parser.add_argument("--runs", type=Path, default=home() / "perception", help="the trained float32 encoders")
    parser.add_argument("--record", action="store_true", help="put the figures on the board")
    parser.add_argument("--write", action="store_true", help="draw the plots, and write every class into the card")
    chosen = parser.parse_args(argv)
    options = Options(chosen.limit, chosen.runs, Perception(chosen.weights), chosen.write)
    found: dict[str, list[Score]] = {"perception": [], "perception-fp32": []}
    if chosen.quality or not chosen.speed:
        for question in chosen.only:
            found["perception"] += tell("int8", MEASURES[question](options, "int8"))
            try:
                found["perception-fp32"] += tell("fp32", MEASURES[question](options, "fp32"))
            except MissingFile as missing:
                print(f"{question} without float32: {missing}")
        compare(found["perception"], found["perception-fp32"])
    if chosen.speed or not chosen.quality:
        found["perception"] += tell("int8", speed(options))
    if chosen.record:
        for system, scores in found.items():
            if scores:
                print(f"recorded in {board.record_scores('perception', system, scores)}")
        if chosen.write:
            write_table(version_of(options.perception.folder))


def tell(precision: str, scores: list[Score]) -> list[Score]:
    for score in scores:
        goal = GOALS.get(score.name)
        met = "" if goal is None else f"  (must {goal.must:g}: {'met' if goal.met(score.value) else 'MISSED'})"
        print(f"{precision} {score}{met}", flush=True)
    return scores


def compare(small: Sequence[Score], whole: Sequence[Score]) -> None:
    values = {score.name: score.value for score in whole}
    for score in small:
        if score.name in COMPARED and score.name in values:
            lost = values[score.name] - score.value
            print(f"int8 loses {lost:+.2f} points of {score.name}" + ("" if lost <= 1 else "  MORE THAN ONE"))


def write_table(version: str) -> None:
    """The board's figures of these weights into docs/perception.md, between its marks."""
    figures = {f.name: f.value for f in board.read_board("perception")["perception"] if tells_of(f.signature, version)}
    lines = ["| | published | must | aim | int8 | float32 |\n", "| --- | --- | ---: | ---: | ---: | ---: |\n"]
    for name, goal in GOALS.items():
        aim = "–" if goal.aim is None else f"{goal.aim:g}"
        values = [figures.get(f"{system}/{name}") for system in ("perception", "perception-fp32")]
        int8, fp32 = ("–" if value is None else number(value) for value in values)
        lines.append(f"| {goal.title} | {goal.published} | {goal.must:g} | {aim} | **{int8}** | {fp32} |\n")
    lines += ["\n| | int8 |\n", "| --- | ---: |\n"]
    lines += [f"| {MORE[n]} | {number(figures[f'perception/{n}'])} |\n" for n in MORE if f"perception/{n}" in figures]
    text = PAGE.read_text(encoding="utf-8")
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    with atomic(PAGE) as out:
        out.write(head + begin + "\n\n" + "".join(lines) + "\n" + end + tail)
    print(f"wrote the table of {PAGE.name}")


def tells_of(signature: str, version: str) -> bool:
    """A figure of these weights, and of whole test splits; a speed names no weights."""
    parts = dict(part.partition(":")[::2] for part in signature.split("|"))
    return "first" not in parts and parts.get("weights", version) == version


if __name__ == "__main__":
    main()
