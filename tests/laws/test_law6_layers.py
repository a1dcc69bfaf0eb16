"""Law 6: core imports nothing but the standard library and numpy, layers keep apart, heavy things load when used."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

import evolute

ROOT = Path(__file__).parents[2]
CORE = Path(evolute.__file__).parent / "core"
HEAVY = {
    "jax",
    "torch",
    "ray",
    "mpi4py",
    "gymnasium",
    "scipy",
    "matplotlib",
    "pydantic",
    "rich",
    "typer",
    "yaml",
    "cloudpickle",
}


@pytest.mark.parametrize("path", sorted(CORE.glob("*.py")), ids=lambda path: path.name)
def test_core_imports_the_standard_library_numpy_and_itself(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            first = name.split(".")[0]
            assert first in sys.stdlib_module_names | {"numpy"} or name.startswith("evolute.core"), f"{path.name}: {name}"


def test_engines_learners_strategies_and_stores_never_import_one_another(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert lint_imports(no_cache=True) == 0


def loaded(code: str, cwd: Path) -> set[str]:
    """The modules that a fresh process has loaded after this code."""
    program = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], cwd=cwd, capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_importing_evolute_loads_nothing_heavy(tmp_path):
    modules = loaded("import evolute; evolute.Float(0.0, 1.0)", tmp_path)
    assert not HEAVY & modules


def test_policies_are_at_hand_and_need_numpy_alone(tmp_path):
    modules = loaded("import evolute; evolute.policy.load", tmp_path)
    assert "evolute.policy" in modules
    assert not HEAVY & modules


@pytest.mark.parametrize("command", [["ls"], ["show", "toy-1"], ["show", "toy-1", "--json"]])
def test_ls_and_show_import_no_plug_in(tmp_path, command):
    evolute.run(preset="toy", name="toy", runs=tmp_path / "runs", display="none")
    modules = loaded(f"from evolute.cli.main import app; app({command!r}, standalone_mode=False)", tmp_path)
    plugins = ("evolute.strategies", "evolute.learners", "evolute.engines", "evolute.config")
    assert {name for name in modules if name.startswith(plugins)} == set()
    assert not modules & {"scipy", "cloudpickle", "yaml"}


def test_a_run_that_needs_no_jax_does_not_import_it(tmp_path):
    command = ["run", "toy", "--new", "-m", "stop.turns=2"]
    modules = loaded(f"from evolute.cli.main import app; app({command!r}, standalone_mode=False)", tmp_path)
    assert "evolute.learners.toy" in modules
    assert not modules & {"jax", "torch", "scipy", "matplotlib"}
