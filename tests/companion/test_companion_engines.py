"""The seam, on the real SmolLM2 through llama.cpp, on a tiny transformers folder, and on servers across HTTP."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event

import httpx
import pytest
from companion_server import second_process

from empathia.companion import weights
from empathia.companion.engines import open_engine
from empathia.companion.engines.contract import Engine, EngineFailed, Generated, Message, PromptTooLong, Sampling
from empathia.companion.engines.folder import Folder
from empathia.companion.engines.llama import Llama
from empathia.companion.engines.remote import Remote
from empathia.core.errors import BadFile, BadInput, MissingFile

WALLET = "<|im_start|>user\nI lost my wallet at the station today.<|im_end|>\n<|im_start|>assistant\n"
SEA = "<|im_start|>user\nTell me about the sea.<|im_end|>\n<|im_start|>assistant\n"
CHAT = (Message("user", "I lost my wallet at the station today."),)
FEW = Sampling(seed=5, max_tokens=5)
MANY = Sampling(seed=5, max_tokens=400, min_p=0.3)


@pytest.fixture(scope="module")
def llama() -> Iterator[Llama]:
    engine = Llama(weights.base(), threads=1)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random llama and a tokenizer of letters, saved as transformers saves them."""
    torch = pytest.importorskip("torch")
    from tokenizers import Tokenizer, models, pre_tokenizers
    from tokenizers.decoders import ByteLevel
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    torch.set_num_threads(1)
    torch.manual_seed(3)
    path = tmp_path_factory.mktemp("engines") / "tiny"
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE({"</s>": 0} | {letter: i + 1 for i, letter in enumerate(letters)}, []))
    inner.pre_tokenizer, inner.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="</s>")
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}\n{% endfor %}"
    tokenizer.save_pretrained(path)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "max_position_embeddings": 600}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "eos_token_id": 0}
    LlamaForCausalLM(LlamaConfig(vocab_size=len(letters) + 1, **sizes, **heads)).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def tiny(folder: Path) -> Folder:
    return Folder(folder)


@pytest.fixture(params=["llama", "tiny"])
def engine(request: pytest.FixtureRequest) -> Engine:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with second_process() as address:
        yield address


def whole(pieces: Iterator[str | Generated]) -> Generated:
    """The last item, after a look at whether the others are its pieces."""
    *texts, last = pieces
    assert isinstance(last, Generated) and "".join(texts) == last.text  # type: ignore[arg-type]
    return last


# every engine of this process


def test_same_seed_same_text_alone_in_company_and_streamed(engine: Engine):
    together = engine.candidates(WALLET, 6, FEW)  # more than there are slots
    alone = [engine.candidates(WALLET, 1, replace(FEW, seed=5 + place))[0] for place in range(6)]
    assert [one.text for one in together] == [one.text for one in alone]
    assert len({one.text for one in together}) > 1
    assert whole(engine.generate(WALLET, FEW)).text == together[0].text


def test_log_probability_is_the_models_own(engine: Engine):
    """Temperature and cuts change which token is drawn, not how likely the model finds it."""
    greedy = engine.candidates(WALLET, 1, replace(FEW, temperature=0))[0]
    hot = engine.candidates(WALLET, 1, replace(FEW, temperature=2, top_k=1))[0]
    assert hot.text == greedy.text and greedy.log_probability is not None and greedy.log_probability < 0
    assert hot.log_probability == pytest.approx(greedy.log_probability, abs=1e-3)


def test_length_and_stop_strings(engine: Engine):
    long = engine.candidates(WALLET, 1, replace(FEW, temperature=0, max_tokens=12))[0]
    assert long.tokens == 12 and not long.ended
    word = long.text[4:7]
    cut = whole(engine.generate(WALLET, replace(FEW, temperature=0, max_tokens=12, stop=(word, "never"))))
    assert cut.ended and cut.text == long.text[: long.text.index(word)]


def test_stopped_it_says_no_more(engine: Engine):
    stop = Event()
    pieces = engine.generate(WALLET, MANY, stop)
    assert isinstance(next(pieces), str)
    stop.set()
    rest = list(pieces)
    assert len(rest) <= 3 and not any(isinstance(piece, Generated) for piece in rest)
    assert list(engine.generate(WALLET, MANY, stop)) == []
    assert engine.candidates(WALLET, 2, MANY, stop) == []


def test_a_prompt_must_fit(engine: Engine):
    assert engine.count(WALLET * 2) > engine.count(WALLET) > 10
    assert engine.count(CHAT) > 10
    long = SEA * 200
    with pytest.raises(PromptTooLong, match="leaves no room for a reply") as caught:
        engine.candidates(long, 1, FEW)
    assert caught.value.tokens == engine.count(long)
    with pytest.raises(PromptTooLong):
        list(engine.generate(long, FEW))
    with pytest.raises(BadInput, match="empty"):
        engine.candidates("", 1, FEW)
    with pytest.raises(BadInput, match="0 candidates"):
        engine.candidates(SEA, 0, FEW)


def test_sampling_checks_itself():
    for wrong in ({"temperature": -1}, {"top_p": 0}, {"min_p": 2}, {"seed": -1}, {"max_tokens": 0}, {"top_k": -1}):
        with pytest.raises(BadInput, match=f"{next(iter(wrong))} cannot be"):
            Sampling(**wrong)


# llama.cpp


def test_the_cache_and_the_neighbours_change_nothing(llama: Llama):
    """What the engine did before and does meanwhile leaves no trace in a reply."""
    first = llama.candidates(WALLET, 2, FEW)
    longer = WALLET + "Oh no. When did you last see it?<|im_end|>\n" + SEA
    later = llama.candidates(longer, 2, FEW)  # partly read already
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(llama.candidates, prompt, 2, FEW) for prompt in (WALLET, SEA, longer, WALLET)]
        found = [call.result() for call in calls]
    assert found[0] == first == found[3] and found[2] == later
    fresh = Llama(weights.base(), threads=2, slots=2)
    assert fresh.candidates(longer, 2, FEW) == later
    fresh.close()


def test_streams_of_several_threads_do_not_mix(llama: Llama):
    likeliest = Sampling(temperature=0.0, max_tokens=3)  # no draw: with more calls than slots a rare one parts ways
    alone = {prompt: whole(llama.generate(prompt, likeliest)).text for prompt in (WALLET, SEA)}
    assert alone[WALLET] != alone[SEA]
    with ThreadPoolExecutor(6) as pool:
        asked = [WALLET, SEA] * 3
        found = list(pool.map(lambda prompt: whole(llama.generate(prompt, likeliest)).text, asked))
    assert [alone[prompt] for prompt in asked] == found


def test_messages_go_through_the_models_own_template(llama: Llama):
    template = "<|im_start|>system\nBe brief.<|im_end|>\n" + WALLET
    asked = (Message("system", "Be brief."), *CHAT)
    assert whole(llama.generate(asked, FEW)).text == whole(llama.generate(template, FEW)).text
    assert llama.count(asked) == llama.count(template)
    assert [one.text for one in llama.candidates(asked, 2, FEW)] == [
        one.text for one in llama.candidates(template, 2, FEW)
    ]


@pytest.mark.parametrize("how", ["stop", "close", "candidates"])
def test_stopping_really_stops_the_engine(llama: Llama, how: str):
    """Within 200 ms the process is idle again."""
    stop = Event()
    if how == "candidates":
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(llama.candidates, WALLET, 4, MANY, stop)
            time.sleep(0.3)
            stop.set()
            assert call.result(timeout=60) == []
    else:
        pieces = llama.generate(WALLET, MANY, stop)
        next(pieces)
        if how == "stop":
            stop.set()
            list(pieces)
        else:
            pieces.close()  # type: ignore[attr-defined]
    time.sleep(0.2)
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.05
    assert llama.candidates(WALLET, 4, FEW)  # all slots are free again


def test_the_prompt_is_read_once(llama: Llama):
    """A prompt of three hundred tokens costs the second time what its last token costs."""
    long, one = SEA * 18 + WALLET, replace(FEW, max_tokens=1)
    spent = []
    for _ in range(2):
        before = time.process_time()
        llama.candidates(long, 1, one)
        spent.append(time.process_time() - before)
    assert spent[1] < spent[0] / 4


def test_nothing_is_printed_and_no_port_is_open():
    script = """
import os
from empathia.companion import weights
from empathia.companion.engines.contract import Sampling
from empathia.companion.engines.llama import Llama
engine = Llama(weights.base())
engine.candidates("Hello", 2, Sampling(max_tokens=1))
own = set()
for number in os.listdir("/proc/self/fd"):
    if os.path.islink(f"/proc/self/fd/{number}"):
        own.add(os.readlink(f"/proc/self/fd/{number}"))
lines = [line.split() for name in ("tcp", "tcp6") for line in open(f"/proc/net/{name}").readlines()[1:]]
open_ports = own & {f"socket:[{words[9]}]" for words in lines if words[3] == "0A"}
assert not open_ports, open_ports
engine.close()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_damaged_or_unknown_model_is_named(tmp_path: Path):
    half = tmp_path / "half.gguf"
    half.write_bytes(weights.base().read_bytes()[: 1 << 22])
    with pytest.raises(BadFile, match=r"llama\.cpp cannot load this model"):
        open_engine(str(half))


def test_a_closed_engine_says_so():
    engine = Llama(weights.base(), slots=1)
    engine.close()
    engine.close()
    with pytest.raises(EngineFailed, match="closed"):
        engine.candidates(WALLET, 1, FEW)
    with pytest.raises(EngineFailed, match="closed"):
        engine.count(WALLET)


# a transformers folder


def test_greedy_is_what_transformers_itself_generates(tiny: Folder):
    import torch

    ids = tiny._tokenizer(WALLET, return_tensors="pt").input_ids
    wanted = tiny._model.generate(ids, max_new_tokens=20, do_sample=False)[0, ids.shape[1] :]
    found = tiny.candidates(WALLET, 1, Sampling(temperature=0, max_tokens=20))[0]
    assert found.text == tiny._tokenizer.decode(wanted, skip_special_tokens=True)
    with torch.no_grad():
        scores = tiny._model(torch.cat([ids[0], wanted])[None]).logits[0, ids.shape[1] - 1 : -1].log_softmax(-1)
    assert found.log_probability == pytest.approx(scores.gather(1, wanted[:, None]).sum().item(), abs=1e-3)


def test_a_folder_without_a_model_is_named(tmp_path: Path):
    with pytest.raises(BadInput, match=r"no config\.json"):
        open_engine(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    pytest.importorskip("torch")
    with pytest.raises(BadFile, match="transformers cannot load this folder"):
        open_engine(str(tmp_path))


# a server across HTTP


def test_remote_chat_and_raw_prompt(address: str):
    remote = Remote(f"{address}/v1", "kind")
    assert whole(remote.generate(CHAT, FEW)).text == "word5" + " word5é" * 4
    assert whole(remote.generate(WALLET, FEW)) == Generated("word5" + " word5é" * 4, 5, None, ended=True)
    seen = [entry for entry in httpx.get(f"{address}/log").json() if isinstance(entry, dict)][-2:]
    assert [entry["path"] for entry in seen] == ["/v1/chat/completions", "/v1/completions"]
    assert seen[0]["messages"] == [{"role": "user", "content": CHAT[0].content}] and seen[1]["prompt"] == WALLET
    assert "top_k" not in seen[0] and "min_p" not in seen[0]  # OpenAI itself refuses what it does not know


@pytest.mark.parametrize("model", ["kind", "alone", "silent"])
def test_candidates_with_n_or_without(address: str, model: str):
    """`alone` refuses n, `silent` ignores it: the missing ones are asked for one by one, with seeds of their own."""
    found = Remote(f"{address}/v1", model).candidates(CHAT, 3, replace(FEW, max_tokens=1))
    assert [one.text for one in found] == ["word5", "word6", "word7"]


def test_leaving_closes_the_connection(address: str):
    stop, remote = Event(), Remote(f"{address}/v1", "slow")
    pieces = remote.generate(CHAT, MANY, stop)
    next(pieces)
    stop.set()
    assert all(isinstance(piece, str) for piece in pieces)
    for _ in range(100):
        if any(str(entry).startswith("left after") for entry in httpx.get(f"{address}/log").json()):
            break
        time.sleep(0.1)
    else:
        pytest.fail("the server was never left")


def test_passing_trouble_is_tried_again(address: str):
    assert Remote(f"{address}/v1", "flaky").candidates(CHAT, 1, FEW)[0].text.startswith("word5")
    with pytest.raises(EngineFailed, match="answered 503: try later"):
        Remote(f"{address}/v1", "busy").candidates(CHAT, 1, FEW)
    with pytest.raises(EngineFailed, match="broke off: out of memory"):
        list(Remote(f"{address}/v1", "breaks").generate(CHAT, FEW))


def test_errors_that_teach(address: str, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(EngineFailed, match=r"has no model 'kint'; did you mean 'kind'\?"):
        Remote(f"{address}/v1", "kint").candidates(CHAT, 1, FEW)
    with pytest.raises(EngineFailed, match=r"refuses the key \(invalid key\); set EMPATHIA_ENGINE_KEY"):
        Remote(f"{address}/v1", "strict").candidates(CHAT, 1, FEW)
    monkeypatch.setenv("EMPATHIA_ENGINE_KEY", "open sesame")
    assert Remote(f"{address}/v1", "strict").candidates(CHAT, 1, FEW)
    with pytest.raises(PromptTooLong):
        Remote(f"{address}/v1", "short").candidates(CHAT, 2, FEW)
    with pytest.raises(EngineFailed, match=r"cannot reach http://127\.0\.0\.1:9/v1"):
        open_engine("http://127.0.0.1:9/v1")
    with pytest.raises(EngineFailed, match="ends in /v1"):
        open_engine(address)
    with pytest.raises(BadInput, match="name one after a #; known: kind, alone"):
        open_engine(f"{address}/v1")


def test_silence_is_not_waited_for_for_ever(address: str):
    with pytest.raises(EngineFailed, match=r"cannot reach .*: ReadTimeout"):
        Remote(f"{address}/v1", "slow", timeout=0.02).candidates(CHAT, 1, FEW)


def test_remote_against_llama_cpps_own_server(llama: Llama):
    """The same model behind HTTP gives the same text for the same seed."""
    import xllamacpp

    given = xllamacpp.CommonParams()
    given.model.path, given.n_ctx, given.n_parallel, given.verbosity = str(weights.base()), 4096, 2, -1
    given.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    given.warmup = given.fit_params = False
    server = xllamacpp.Server(given)
    remote = open_engine(f"{server.listening_address}/v1")
    greedy = replace(FEW, temperature=0)
    assert whole(remote.generate(CHAT, greedy)).text == whole(llama.generate(CHAT, greedy)).text
    assert whole(remote.generate(WALLET, greedy)).text == whole(llama.generate(WALLET, greedy)).text
    assert len(remote.candidates(CHAT, 3, FEW)) == 3  # more than it has slots
    with pytest.raises(PromptTooLong):
        remote.candidates(SEA * 400, 1, FEW)


# by name


def test_open_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path, address: str):
    named = open_engine(str(weights.base()), slots=1)
    assert isinstance(named, Llama) and not named.tuned and named.name.startswith("SmolLM2")
    named.close()
    assert isinstance(open_engine(str(folder)), Folder)
    remote = open_engine(f"{address}/one")
    assert isinstance(remote, Remote) and remote.name == "kind"
    assert open_engine(f"{address}/v1#slow").name == "slow"
    with pytest.raises(MissingFile, match=r"no such model: nowhere\.gguf"):
        open_engine("nowhere.gguf")
    with pytest.raises(BadInput, match=r"'gpt' is no language model; name a \.gguf file"):
        open_engine("gpt")
    monkeypatch.setattr("empathia.core.places.shipped", lambda: tmp_path)
    default = open_engine(None, slots=1)
    assert not default.tuned and default.candidates(CHAT, 1, replace(FEW, max_tokens=1))
    default.close()
