"""The pages run, the links lead somewhere, nothing that has a name goes undocumented, results.md is the board's."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
import re
import shlex
import sys
from pathlib import Path

import pytest

from empathia.cli import COMMANDS, cli, main

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import build  # noqa: E402
from snippets import blocks, run, with_outputs  # noqa: E402

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
OURS = [page for page in PAGES if page.name not in ("study.md", "results.md")]


def names(pages):
    return [str(page.relative_to(ROOT)) for page in pages]


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A folder like a clone, the hand-written corpus, and `mime` trained on it."""
    pytest.importorskip("torch").set_num_threads(1)
    place = tmp_path_factory.mktemp("docs")
    (place / "recipes").symlink_to(ROOT / "recipes")
    (place / "benchmarks").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMPATHIA_HOME", str(place / "home"))
        patch.setenv("EMPATHIA_DATA", str(ROOT / "tests" / "data"))
        patch.delenv("EMPATHIA_RUNS", raising=False)
        patch.chdir(place)
        main(["train", "recipes/mime.toml"])
        yield place


@pytest.mark.parametrize("page", [p for p in OURS if "```python" in p.read_text("utf-8")], ids=lambda p: p.stem)
def test_python_blocks_run_and_print_what_the_page_says(page, house):
    namespace = {}
    for block, output in with_outputs(page.read_text("utf-8")):
        if block.language == "python":
            printed = run(block, namespace, page)
            if output is not None and "always" in output.marks:
                assert printed == output.code, f"{page.name}, line {block.line}"


def test_the_model_in_contributing_keeps_the_contract(monkeypatch, tmp_path):
    pytest.importorskip("torch").set_num_threads(1)
    from empathia import models

    page = ROOT / "CONTRIBUTING.md"
    namespace = {"__name__": "bag"}
    run(next(block for block in blocks(page.read_text("utf-8")) if block.language == "python"), namespace, page)
    monkeypatch.setattr(models, "find", lambda name: namespace["Bag"])
    place = importlib.util.spec_from_file_location("contract", ROOT / "tests" / "models" / "test_contract.py")
    contract = importlib.util.module_from_spec(place)
    place.loader.exec_module(contract)
    for name, test in vars(contract).items():
        if name.startswith("test_"):
            given = {"name": "bag", "blocks": contract.SMALL, "tmp_path": tmp_path}
            test(**{key: given[key] for key in inspect.signature(test).parameters})


def commands(page, marked):
    """The `empathia` commands of a page: those of `sh run` blocks, or all of them."""
    for block in blocks(page.read_text("utf-8")):
        if block.language == "sh" and ("run" in block.marks or not marked):
            for line in block.code.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if words and words[0] == "empathia":
                    yield words[1:]
                elif words and "run" in block.marks:
                    pytest.fail(f"{page.name}: only empathia's commands can be marked as runnable, not: {line}")


def test_runnable_commands_run(house, capsys):
    done = set()
    for page in OURS:
        for words in commands(page, marked=True):
            if tuple(words) not in done:
                done.add(tuple(words))
                main(words)
    assert len(done) >= 8


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_every_command_named_exists_with_its_options(page):
    for words in commands(page, marked=False):
        command = cli
        while words and hasattr(command, "get_command"):
            if words[0].startswith("-"):
                break
            context = importlib.import_module("click").Context(command)
            command, words = command.get_command(context, words[0]), words[1:]
            assert command is not None, f"{page.name}: no such command"
        known = {option for parameter in command.params for option in [*parameter.opts, *parameter.secondary_opts]}
        known |= {"--help", "--version"}
        for word in words:
            if word.startswith("--"):
                assert word.partition("=")[0] in known, f"{page.name}: {command.name} has no {word}"


def test_every_command_is_in_the_readme():
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [name for name in COMMANDS if f"`empathia {name}" not in readme] == []


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", target) or target.startswith("#"):
            continue
        path = page.parent / target.partition("#")[0]
        if path.suffix == ".png" and not any(path.parent.glob("*.png")):
            continue  # pictures of trained runs and of the study: a folder has all of them or none
        assert path.exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", OURS, ids=names(OURS))
def test_code_that_a_page_names_is_there(page):
    """`models/mime.py: MIME.encode` must be a function of that file; `nn/latent.py` a file."""
    text = page.read_text("utf-8")
    for file, name in re.findall(r"`(\w+/\w+\.py): ([\w.]+)`", text):
        found = importlib.import_module("empathia." + file.removesuffix(".py").replace("/", "."))
        for part in name.split("."):
            fields = {f.name for f in dataclasses.fields(found)} if dataclasses.is_dataclass(found) else set()
            assert hasattr(found, part) or part in fields, f"{page.name}: {file} has no {name}"
            found = getattr(found, part, None)
    for file in re.findall(r"`(\w+/\w+\.py)[`:]", text):
        assert (ROOT / "empathia" / file).exists() or (ROOT / file).exists(), f"{page.name}: no {file}"


def test_every_recipe_and_option_is_documented():
    pytest.importorskip("torch")
    from empathia import models
    from empathia.models.base import BaseConfig, ReplyLoss
    from empathia.nn.blocks import Blocks
    from empathia.training.recipe import Data, Train

    def options(cls):
        return {field.name for field in dataclasses.fields(cls)}

    wanted = {"transformer": options(Blocks) | options(ReplyLoss) | options(Data) | options(Train)}
    for name in models.names():
        wanted[name] = wanted.get(name, set()) | options(models.find(name).Config) - options(BaseConfig)
    for name, keys in wanted.items():
        page = (ROOT / "docs" / "models" / f"{name}.md").read_text("utf-8")
        assert [key for key in sorted(keys) if f"`{key}`" not in page] == [], name
    pages = "".join(page.read_text("utf-8") for page in (ROOT / "docs" / "models").glob("*.md"))
    assert [r.name for r in (ROOT / "recipes").glob("*.toml") if f"recipes/{r.name}" not in pages] == []


def test_every_dependency_has_a_reason():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    decisions = (ROOT / "docs" / "decisions.md").read_text("utf-8").partition("## Dependencies")[2]
    plain = [re.match(r"[\w-]+", dependency).group() for dependency in wanted]
    assert [name for name in plain if f"`{name}`" not in decisions] == []


def test_every_metric_is_documented():
    page = (ROOT / "docs" / "evaluation.md").read_text("utf-8")
    shown = {metric for table in build.TABLES.values() for metric in table}
    published = {name.partition("/")[2] for name in build.read_published(ROOT)}
    assert [metric for metric in sorted(shown | published) if f"`{metric}`" not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_no_page_tells_of_one_machine(page):
    assert not re.search(r"(?<![\w.])/(work|root|home|tmp)/", page.read_text("utf-8"))


def test_results_page_is_what_the_board_says():
    text = (ROOT / "docs" / "results.md").read_text("utf-8")
    assert text == build.results(ROOT), "run: make docs"
