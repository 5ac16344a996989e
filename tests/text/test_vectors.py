from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from empathia.core.errors import BadFile, MissingFile
from empathia.text.vectors import WordVectors, find_vectors, fit, read_vectors

WORDS = ["<pad>", "sad", "happy", "dog", "zzzz"]


def write(path: Path, *lines: str) -> Path:
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    return path


def some(width: int, words: int = 40, seed: int = 0) -> WordVectors:
    matrix = np.random.default_rng(seed).normal(size=(words, width)).astype(np.float32)
    return WordVectors("some", {f"w{i}": i for i in range(words)}, matrix)


def test_only_wanted_words_are_kept_and_the_first_of_a_word_counts(tmp_path: Path) -> None:
    file = write(tmp_path / "g.txt", "the 1 2 3", "sad 0.5 -1 2e-1", "café 7 8 9", "sad 9 9 9", "happy 4 5 6")
    vectors = read_vectors(file, [*WORDS, "café"])
    assert vectors.width == 3
    assert vectors.places == {"sad": 0, "café": 1, "happy": 2}
    np.testing.assert_allclose(vectors.matrix_NW, [[0.5, -1, 0.2], [7, 8, 9], [4, 5, 6]], rtol=1e-6)


def test_word2vec_header_trailing_spaces_and_words_with_spaces(tmp_path: Path) -> None:
    file = write(tmp_path / "w.txt", "3 2", "sad 1 2 ", "dog dog 8 9", "happy 3 4\r")
    vectors = read_vectors(file, WORDS)
    assert vectors.places == {"sad": 0, "happy": 1}
    np.testing.assert_array_equal(vectors.matrix_NW, [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    "lines, line, said",
    [
        (["the 1 2 3", "sad 1 2"], 2, "3 numbers"),
        (["the 1 2 3", "unwanted 1 2", "sad 1 2 3"], 2, "3 numbers"),
        (["the 1 2 3", "", "sad 1 2 3"], 2, "3 numbers"),
        (["the 1 2 3", "sad 1 x 3"], 2, "'x' is not a number"),
        (["the 1 2 3", "sad 1 nan 3"], 2, "'nan' is not a number"),
        (["the 1 2 3", "sad 1  3"], 2, "'' is not a number"),
        (["the"], 1, "a word and its numbers"),
        (["5 4", "sad 1 2 3"], 2, "4 numbers"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, lines: list[str], line: int, said: str) -> None:
    with pytest.raises(BadFile, match=said) as caught:
        read_vectors(write(tmp_path / "g.txt", *lines), WORDS)
    assert caught.value.line == line


def test_empty_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="no word vectors"):
        read_vectors(write(tmp_path / "g.txt"), WORDS)
    with pytest.raises(MissingFile):
        read_vectors(tmp_path / "none.txt", WORDS)


def test_the_exact_width_is_used_as_is() -> None:
    vectors = some(6)
    words = ["<pad>", "w3", "new", "w0"]
    fitted = fit(vectors, words, 6)
    np.testing.assert_array_equal(fitted.matrix_VD[[1, 3]], vectors.matrix_NW[[3, 0]])
    assert (fitted.found, fitted.coverage, fitted.how) == (2, 0.5, "as is")
    assert str(fitted) == "some: 2 of 4 words (50.0%), 6 wide"


def test_narrow_vectors_are_lifted_with_their_inner_products() -> None:
    vectors = some(10)
    fitted = fit(vectors, list(vectors.places), 30, seed=4)
    assert fitted.matrix_VD.shape == (40, 30) and fitted.matrix_VD.dtype == np.float32
    np.testing.assert_allclose(
        fitted.matrix_VD @ fitted.matrix_VD.T, vectors.matrix_NW @ vectors.matrix_NW.T, rtol=1e-4, atol=1e-4
    )
    assert str(fitted).endswith("30 wide, lifted from 10")
    fewer = fit(vectors, ["w5"], 30, seed=4)
    np.testing.assert_allclose(fewer.matrix_VD[0], fitted.matrix_VD[5], atol=1e-6)


def test_wide_vectors_keep_their_variance() -> None:
    random = np.random.default_rng(0)
    flat = random.normal(size=(40, 3)) @ random.normal(size=(3, 20)) + 5
    vectors = WordVectors("flat", {f"w{i}": i for i in range(40)}, flat.astype(np.float32))
    fitted = fit(vectors, list(vectors.places), 4)
    centred = flat - flat.mean(0)
    np.testing.assert_allclose(fitted.matrix_VD @ fitted.matrix_VD.T, centred @ centred.T, rtol=1e-3, atol=1e-3)
    spread = fitted.matrix_VD.var(0)
    assert (np.diff(spread) <= 1e-5).all() and spread[3] < 1e-6
    assert fitted.how == "reduced"


@pytest.mark.parametrize("width", [4, 6, 9])
def test_missing_words_are_small_noise_under_the_seed(width: int) -> None:
    words = [f"new{i}" for i in range(3000)]
    fitted = fit(some(6), words, width, seed=1)
    assert fitted.found == 0 and fitted.coverage == 0
    assert abs(fitted.matrix_VD.std() - 0.01) < 5e-4 and abs(fitted.matrix_VD.mean()) < 5e-4
    np.testing.assert_array_equal(fitted.matrix_VD, fit(some(6), words, width, seed=1).matrix_VD)
    assert (fitted.matrix_VD != fit(some(6), words, width, seed=2).matrix_VD).any()


def test_finding_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPATHIA_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("EMPATHIA_HOME", str(tmp_path / "home"))
    with pytest.raises(MissingFile, match="empathia data get glove-100d"):
        find_vectors()
    for place, name in [
        ("home/data", "other.txt"),
        ("data", "glove.6B.50d.txt"),
        ("data", "glove.6B.100d.txt"),
        ("home/data", "glove.6B.300d.txt"),
        ("data", "glove.6B.300d.txt"),
    ]:
        file = tmp_path / place / "glove" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        assert find_vectors() == file
