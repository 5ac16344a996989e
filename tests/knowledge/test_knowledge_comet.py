from __future__ import annotations

import random

import pytest
from knowledge_models import tiny_bart, tiny_llama

from empathia.cli import main
from empathia.core.errors import BadFile
from empathia.knowledge import infer
from empathia.knowledge.comet import Comet, Drawn, ask_ours, ask_published


def test_an_event_is_asked_about_in_plain_words():
    assert ask_ours("personx gives persony 's ___ away", "xReact") == "X gives Y's something away\n feels"
    assert ask_published("personx loses personx's job", "xWant") == "PersonX loses PersonX's job xWant [GEN]"


def test_what_is_written_becomes_tails():
    asked = []

    def draw(prompts, most):
        asked.extend(prompts)
        said = [" sad\nand more", "Sad.", " very sad", " none", "  ", " lost for words"]
        return [[Drawn(text, 1 / (2 + i)) for i, text in enumerate(said)] for _ in prompts]

    comet = Comet("scripted", "scripted", ask_ours, draw)
    [own] = comet.tails(["personx loses personx's job"], ["xReact", "xWant"], 5)
    assert asked == ["X loses X's job\n feels", "X loses X's job\n wants"]
    assert [(t.relation, t.text) for t in own] == [
        ("xReact", "sad"),
        ("xReact", "lost for words"),
        ("xWant", "sad"),
        ("xWant", "lost for words"),
    ]
    assert own[0].score == 0.5
    asked.clear()
    assert infer(comet, "Hello!") == ()
    assert not asked


def test_an_engine_draws_the_likeliest_and_then_others():
    from empathia.commands.inferrers import Sampler
    from empathia.companion.engines.contract import Generated

    class Engine:
        asked = []

        def candidates(self, prompt, n, sampling, stop=None):
            self.asked.append((prompt, n, sampling.temperature, sampling.stop))
            return [Generated(f" tail {i}", tokens=2, log_probability=-2.0) for i in range(n)]

    [drawn] = Sampler(Engine())(["X wins\n feels"], 4)
    assert [one.text for one in drawn] == [" tail 0", " tail 0", " tail 1", " tail 2"]
    assert drawn[0].score == pytest.approx(0.3679, abs=1e-4)  # a nat a token
    assert Engine.asked == [("X wins\n feels", 1, 0.0, ("\n",)), ("X wins\n feels", 3, 0.8, ("\n",))]


def test_the_published_comet_answers_from_its_folder(tmp_path):
    pytest.importorskip("transformers")
    from empathia.knowledge.beams import published

    comet = published(tiny_bart(tmp_path / "bart"))
    events = ["personx loses personx's job", "personx wins"]
    found = comet.tails(events, ["xReact", "CapableOf"], 2)
    assert len(found) == 2
    assert all(tail.relation in ("xReact", "CapableOf") and 0 <= tail.score <= 1 for own in found for tail in own)
    assert found == comet.tails(events, ["xReact", "CapableOf"], 2)
    assert [comet.tails([event], ["xReact", "CapableOf"], 2)[0] for event in events] == found
    with pytest.raises(BadFile, match="not an encoder–decoder"):
        published(tiny_llama(tmp_path / "llama"))


def test_branches_cost_the_head_once_and_see_only_it(tmp_path):
    torch = pytest.importorskip("torch")
    from empathia.training.lora import Lined, LoraTrainer, Settings

    exact = Settings(first_layer=0, bf16=False)
    trainer = LoraTrainer(tiny_llama(tmp_path / "base"), exact, tmp_path / "run", print)
    head, one, two = [10, 11, 12, 13], [20, 21, 22], [30, 31, 32, 33]

    def loss(*sequences):
        with torch.no_grad():
            return trainer._loss(list(sequences))[0].item()

    def learned(branch):
        return [False] + [True] * (len(branch) - 1)

    together = Lined(
        head + one + two, [False] * 4 + learned(one) + learned(two), [0] * len(head) + [1] * len(one) + [2] * len(two)
    )
    apart = [Lined(head + branch, [False] * 4 + learned(branch)) for branch in (one, two)]
    assert loss(together) == pytest.approx(loss(*apart), rel=1e-5)
    short = Lined(head + one, [False] * 4 + learned(one), [0] * 4 + [1] * 3)
    assert loss(together, short) == pytest.approx(loss(together) + loss(apart[0]), rel=1e-5)


def test_an_adapter_begins_where_another_ended_and_half_the_bits_change_little(tmp_path):
    pytest.importorskip("torch")
    from empathia.core.errors import BadConfig
    from empathia.training.lora import Lined, LoraTrainer, Settings
    from empathia.training.precision import bf16_problem

    base, taught = tiny_llama(tmp_path / "base"), [Lined([10, 11, 12, 13], [False, True, True, True])]

    def trainer(name, **settings):
        made = LoraTrainer(base, Settings(first_layer=0, lr=0.05, **settings), tmp_path / name, print)
        made.teach(taught * 20, taught)
        return made

    first = trainer("first", bf16=False)
    untaught = first.validate()
    first.run()
    assert first.validate() < 0.9 * untaught
    for bf16 in (False, True) if bf16_problem() is None else (False,):
        second = trainer(f"second-{bf16}", bf16=bf16)
        second.begin_with(tmp_path / "first" / "adapter_model.safetensors")
        assert second.validate() == pytest.approx(first.validate(), rel=0.05 if bf16 else 1e-6)
    upper = LoraTrainer(base, Settings(first_layer=1), tmp_path / "upper", print)
    upper.save()
    with pytest.raises(BadConfig, match="does not fit"):
        first.begin_with(tmp_path / "upper" / "adapter_model.safetensors")


def test_lessons_hold_every_tail_once_within_bounds():
    pytest.importorskip("torch")
    from empathia.knowledge.training.lessons import LONGEST, lessons, sequences
    from empathia.knowledge.tuples import Known

    rows = [Known("dog", "CapableOf", f"do trick number {i}", True, "conceptnet") for i in range(40)]
    [lesson] = lessons(rows)
    made = list(sequences(lesson, lambda text: list(text.encode()), random.Random(1)))
    assert len(made) > 1
    assert all(len(s.ids) == len(s.learned) == len(s.branches) <= LONGEST for s in made)
    told = [bytes(i for i, learned in zip(s.ids, s.learned, strict=True) if learned).decode() for s in made]
    assert sorted("".join(told).strip("\n ").split("\n ")) == sorted(row.tail for row in rows)
    assert all(bytes(s.ids).startswith(b"dog\n can ") for s in made)


RECIPE = """
comet = "small"
base = "{base}"

[data]
valid = 2

[train]
rank = 8
alpha = 16
first_layer = 0
lr = 5e-2
tokens = 400
epochs = {epochs}
save_minutes = {minutes}
validate_every = 500
"""


def test_training_learns_goes_on_and_is_used(tuples_here, words_encoder, capsys):
    torch = pytest.importorskip("torch")
    from empathia.knowledge.beams import own
    from empathia.training.lora import LoraTrainer

    base, recipe = tiny_llama(tuples_here / "base"), tuples_here / "comet.toml"
    recipe.write_text(RECIPE.format(base=base, epochs=60.0, minutes=0.0))
    steps = []
    whole = LoraTrainer.save

    def save(trainer):
        whole(trainer)
        steps.append(trainer.step)
        if trainer.step == 3:
            raise KeyboardInterrupt

    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LoraTrainer, "save", save)
        with pytest.raises(SystemExit):
            main(["train", str(recipe), "--threads", "1"])
        main(["train", str(recipe), "--threads", "1"])
    torch.set_num_threads(threads)
    said = capsys.readouterr()
    assert "going on from step 3" in said.err
    assert steps[:4] == [1, 2, 3, 4]
    losses = [float(line.split("loss ")[1].split()[0]) for line in said.err.splitlines() if " loss " in line]
    assert losses[-1] < min(0.95 * losses[0], 5.0)  # by chance: log 258 = 5.55
    assert "nats per token" in said.err.splitlines()[-1]
    folder = tuples_here / "home" / "knowledge" / "small"
    assert said.out.strip() == str(folder)
    comet = own(folder, base)
    [found] = comet.tails(["personx loses personx's job"], ["xReact"], 2)
    assert all(tail.relation == "xReact" for tail in found)
