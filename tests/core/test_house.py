"""The house rules that a machine can check: who may import whom, and what stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "empathia"

#: room → rooms it may import (DESIGN; departures are explained in docs/decisions.md)
MAY = {
    "core": set(),
    "corpora": {"core"},
    "text": {"core"},
    "nn": set(),
    "models": {"core", "text", "nn"},
    "decoding": {"core", "nn"},
    "evaluation": {"core", "text"},
    "training": {"core", "corpora", "text", "nn", "models", "decoding", "evaluation"},
    "study": {"core", "evaluation"},
    "guard": {"core"},
    "perception": {"core", "corpora", "text", "nn"},
    "exemplars": {"core", "corpora", "text", "nn", "perception"},
    "knowledge": {"core", "corpora", "text", "nn", "training"},
    "companion": {"core", "corpora", "text", "perception", "exemplars", "knowledge", "training"},
    "serve": {"core", "guard"},
}


def rooms_of(path: Path) -> set[str]:
    """The rooms of empathia that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            base = list(parts[: len(parts) - node.level]) if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names = [module, *(f"{module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {n.split(".")[1] for n in names if n.startswith("empathia.")}
    return {name for name in found if (PACKAGE / name).is_dir()}


def test_every_room_is_known():
    rooms = {p.name for p in PACKAGE.iterdir() if p.is_dir() and (p / "__init__.py").exists()}
    assert rooms - {"commands"} == set(MAY)


@pytest.mark.parametrize("room", MAY)
def test_imports_go_one_way(room):
    wrong = {
        f"{path.relative_to(PACKAGE)} imports {other}"
        for path in (PACKAGE / room).rglob("*.py")
        for other in rooms_of(path) - MAY[room] - {room}
    }
    assert not wrong


@pytest.mark.parametrize(
    "code",
    [
        "import empathia",
        "import empathia.core.types, empathia.core.config, empathia.core.replies",
        "from empathia.cli import cli; cli.main(['--help'], standalone_mode=False)",
        "import empathia.corpora",
        "import empathia.study.app",
        "import empathia.guard",
        "import empathia.perception",
        "import empathia.exemplars",
        "import empathia.companion",
        "import empathia.serve, empathia.commands.serve",
    ],
)
def test_no_torch_without_need(code):
    check = f"{code}\nimport sys\nassert 'torch' not in sys.modules, 'torch was loaded'"
    subprocess.run([sys.executable, "-c", check], check=True, capture_output=True)


def test_core_loads_no_numpy():
    check = (
        "import empathia.core.types, empathia.core.config, empathia.core.files, sys; assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", check], check=True, capture_output=True)


def test_no_model_is_longer_than_400_lines():
    for path in (PACKAGE / "models").glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) < 400, path.name
