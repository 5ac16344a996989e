import pytest

torch = pytest.importorskip("torch")

from empathia.core.errors import BadFile, BadInput  # noqa: E402
from empathia.core.types import Context, Example, Gold, Turn  # noqa: E402
from empathia.text.batches import Encoder, bucketed, collate  # noqa: E402
from empathia.text.vocabulary import SPECIALS, Vocabulary  # noqa: E402


@pytest.fixture
def vocabulary():
    return Vocabulary.build(["I lost it . I lost my keys", "oh no ! my keys"])


def test_ids_run_from_common_to_rare_and_survive_a_file(vocabulary, tmp_path):
    assert vocabulary.words[len(SPECIALS)] in ("i", "lost", "my", "keys")
    assert Vocabulary.build(["a a b"], min_count=2).size == len(SPECIALS) + 1
    vocabulary.save(tmp_path / "v.json")
    assert Vocabulary.load(tmp_path / "v.json").words == vocabulary.words
    (tmp_path / "v.json").write_text("[]")
    with pytest.raises(BadFile, match="not a vocabulary"):
        Vocabulary.load(tmp_path / "v.json")


def test_decode_writes_for_people_and_drops_marks(vocabulary):
    ids = [Vocabulary.start, *vocabulary.encode("oh no ! i lost my purse"), Vocabulary.end, Vocabulary.pad]
    assert vocabulary.decode(ids) == "Oh no! I lost my <unk>"


def test_context_ids_carry_their_speaker(vocabulary):
    context = Context((Turn("speaker", "I lost it"), Turn("listener", "oh no"), Turn("speaker", "my keys")))
    words, speakers = Encoder(vocabulary).context(context)
    assert words[0] == speakers[0] == Vocabulary.context
    assert speakers[1:] == [Vocabulary.speaker] * 3 + [Vocabulary.listener] * 2 + [Vocabulary.speaker] * 2


def test_ten_thousand_words_keep_the_newest(vocabulary):
    words, speakers = Encoder(vocabulary, max_context=100).context(Context.of("lost " * 10_000 + "keys"))
    assert len(words) == len(speakers) == 100
    assert words[0] == Vocabulary.context
    assert words[-1] == vocabulary.encode("keys")[0]


def test_a_message_without_words_is_refused(vocabulary):
    with pytest.raises(BadInput, match="no words"):
        Encoder(vocabulary).context(Context.of("   "))


def test_collate_pads_with_zero_and_keeps_gold_apart(vocabulary):
    encoder = Encoder(vocabulary)
    long = Example("1", Context.of("I lost my keys"), Gold("oh no !", "sad"))
    short = Example("2", Context.of("keys"), Gold("no"))
    inputs, gold = collate([encoder.example(long), encoder.example(short)])
    assert inputs.mask_BS.tolist() == [[True] * 5, [True, True, False, False, False]]
    assert gold.reply_BT[1].tolist() == [vocabulary.encode("no")[0], Vocabulary.end, 0, 0]
    assert gold.emotion_B.tolist() == [27, -1]
    assert gold.tokens == 6


def test_sequences_are_filled_up_to_a_multiple(vocabulary):
    encoder = Encoder(vocabulary, see=lambda *_: {"cause": [7, 8, 9], "exemplars": [[7], [8, 9]]})
    one = encoder.example(Example("1", Context.of("I lost my keys"), Gold("oh no !")))
    (plain, plain_gold), (filled, filled_gold) = collate([one]), collate([one], multiple=8)
    assert filled.words_BS.shape == filled.speakers_BS.shape == filled_gold.reply_BT.shape == (1, 8)
    assert {name: tuple(ids.shape) for name, ids in filled.seen.items()} == {"cause": (1, 8), "exemplars": (1, 2, 8)}
    assert filled_gold.tokens == plain_gold.tokens and filled.mask_BS.sum() == plain.mask_BS.sum()


@pytest.mark.parametrize("seed", [None, 3])
def test_buckets_hold_every_index_once(seed):
    lengths = [(7 * i) % 23 for i in range(101)]
    batches = list(bucketed(lengths, 8, seed, pool=4))
    assert sorted(i for batch in batches for i in batch) == list(range(101))
    assert max(map(len, batches)) == 8
    assert batches == list(bucketed(lengths, 8, seed, pool=4))
    assert seed is None or batches != list(bucketed(lengths, 8, seed + 1, pool=4))
