"""The commands, from run to envs. Each imports what it needs when it is called, so that help is quick."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

app = typer.Typer(
    help="Train populations of reinforcement-learning agents that tune themselves while they learn.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
SEVERAL = ("-c", "--config", "-m", "--set")

Preset = Annotated[
    list[str] | None, typer.Argument(help="Presets or config files, stacked in order. `evolute presets` lists them.")
]
Configs = Annotated[list[str] | None, typer.Option("-c", "--config", help="Config files; later ones win.")]
Overrides = Annotated[
    list[str] | None, typer.Option("-m", "--set", help="key=value; a range is evolved, an empty value removes the key.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object per turn and a final one.")]
TakeOver = Annotated[bool, typer.Option("--take-over", help="Take a run over from another host whose process is dead.")]
Slot = Annotated[int | None, typer.Option("--member", help="This member instead of the best.")]
Target = Annotated[Path | None, typer.Option("--folder", help="The new run's folder; by default the next free one in runs/.")]
Kind = Literal["png", "svg", "pdf"]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder, or its name in runs/.")]


@app.command()
def run(
    preset: Preset = None,
    config: Configs = None,
    override: Overrides = None,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="The run's folder; by default the next free one in runs/.")
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Start anew although an equal run is unfinished.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would run, and stop.")] = False,
    as_json: AsJson = False,
    take_over: TakeOver = False,
) -> None:
    """Train a population. The same command again continues a run that was not finished."""
    from evolute.cli.train import start

    start(
        preset or [],
        config or [],
        override or [],
        folder=folder,
        new=new,
        dry_run=dry_run,
        as_json=as_json,
        take_over=take_over,
    )


@app.command()
def resume(folder: RunFolder, override: Overrides = None, as_json: AsJson = False, take_over: TakeOver = False) -> None:
    """Continue a run; -m changes its settings, such as stop.turns=200."""
    from evolute.cli.train import carry_on

    carry_on(located(folder), override or [], as_json=as_json, take_over=take_over)


@app.command(name="ls")
def list_runs(
    parent: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to look.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """List runs: state, best score, age, size."""
    from evolute.report.data.run_row import run_row
    from evolute.runs import folders

    rows = [run_row(folder) for folder in folders.runs(parent)]
    if as_json:
        print(json.dumps(rows))
        return
    from evolute.report.summary import printed, runs_table

    if rows:
        printed(runs_table(rows))
    else:
        print(f"no runs in {parent}")


@app.command()
def show(
    folder: RunFolder,
    member: Annotated[int | None, typer.Option("--member", help="Tell the story of this member instead of the best.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Tell the whole story of a run: population, best schedule, line of descent."""
    from evolute.report.data.details import first_failure, run_details
    from evolute.report.data.hints import hints
    from evolute.runs.result import Run
    from evolute.runs.turns import TurnTable

    opened = Run.open(located(folder))
    told = {**run_details(opened, member), "hints": hints(TurnTable.read(opened.folder))}
    if as_json:
        print(json.dumps(told))
        return
    from evolute.report.summary import full_summary, printed

    failure = first_failure(opened.population)
    printed(full_summary(told, None if failure is None else failure.report.error))


@app.command()
def export(
    folder: RunFolder,
    path: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="What to write; by default policy.npz, or .zip for sb3.")
    ] = None,
    member: Slot = None,
) -> None:
    """Write a policy into a file for use without Evolute: by numpy alone, or a zip of Stable-Baselines3."""
    from evolute.cli import policy

    policy.export(located(folder), path, member)


@app.command()
def play(
    folder: RunFolder,
    member: Slot = None,
    episodes: Annotated[int | None, typer.Option("--episodes", min=1, help="How many; by default as many as suit.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The luck of the episodes.")] = 1,
    film: Annotated[Path | None, typer.Option("--film", help="Also draw an episode, as a .gif or .mp4 file.")] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Draw the film's actions; else the likeliest are taken.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Let a member play fresh episodes and tell its returns."""
    from evolute.cli import policy

    policy.play(located(folder), member, episodes=episodes, seed=seed, film=film, sample=sample, as_json=as_json)


@app.command()
def envs(
    source: Annotated[str | None, typer.Argument(metavar="SOURCE", help="List the names in this one, such as gymnax.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """List environments: what is installed, what is not, and how to get it."""
    from evolute.cli.envs import listed

    listed(source, as_json=as_json)


@app.command()
def plot(
    folder: RunFolder,
    path: Annotated[Path | None, typer.Option("-o", "--out", help="The file to write; by default <run>.png here.")] = None,
    kind: Annotated[Kind | None, typer.Option("--format", help="png, svg or pdf.")] = None,
    only: Annotated[list[str] | None, typer.Option("--only", help="Only the picture of this name; may be given again.")] = None,
    dark: Annotated[bool, typer.Option("--dark", help="Light on dark.")] = False,
) -> None:
    """Draw a run: curves, family tree, hyper-parameters, importance, diversity, time."""
    from evolute.cli import pictures

    pictures.plot(located(folder), path, kind=kind, only=only or [], dark=dark)


@app.command()
def report(
    folder: RunFolder,
    path: Annotated[Path | None, typer.Option("-o", "--out", help="The file to write; by default <run>.html here.")] = None,
) -> None:
    """Write all pictures and tables of a run into one HTML file that needs no network."""
    from evolute.cli import pictures

    pictures.report(located(folder), path)


@app.command()
def replay(
    folder: RunFolder,
    member: Slot = None,
    exact: Annotated[bool, typer.Option("--exact", help="With the same seeds: the same weights, bit for bit.")] = False,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="The luck of the new agent.")] = None,
    target: Target = None,
    override: Overrides = None,
) -> None:
    """Train one fresh agent along the best one's line of descent, with its hyper-parameter schedule."""
    from evolute.cli import again

    again.replay(located(folder), member, exact=exact, seed=seed, target=target, overrides=override or [])


@app.command()
def schedule(
    folder: RunFolder,
    member: Slot = None,
    path: Annotated[Path | None, typer.Option("-o", "--out", help="The .yaml or .csv file to write.")] = None,
    kind: Annotated[Literal["yaml", "csv"] | None, typer.Option("--format", help="yaml or csv.")] = None,
) -> None:
    """Export the best one's hyper-parameter schedule, and the simple forms that fit it."""
    from evolute.cli import again

    again.schedule(located(folder), member, path, kind)


@app.command()
def fork(
    folder: RunFolder,
    turn: Annotated[int, typer.Option("--turn", min=0, help="The last turn that is taken over.")],
    target: Target = None,
    override: Overrides = None,
) -> None:
    """Start a new run from a moment of an old one; -m changes its settings, such as strategy=pb2 or a range."""
    from evolute.cli import again

    again.fork(located(folder), turn, target=target, overrides=override or [])


@app.command()
def compare(
    folders: Annotated[
        list[Path], typer.Argument(metavar="RUN…", help="Runs of one task; those equal but for the seed are an arm.")
    ],
    path: Annotated[
        Path | None, typer.Option("-o", "--out", help="The picture; by default comparison.png, `-o ''` draws none.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Compare runs of one task: interquartile mean, bootstrap intervals, probability of improvement."""
    from evolute.cli.compare import compare

    compare([located(folder) for folder in folders], path, as_json=as_json)


@app.command()
def dashboard(
    runs: Annotated[list[Path] | None, typer.Argument(metavar="RUNS…", help="Runs, or folders of runs.")] = None,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; others than loopback need a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 8188,
    token: Annotated[str | None, typer.Option("--token", envvar="EVOLUTE_TOKEN", help="Ask visitors for this token.")] = None,
) -> None:
    """Show runs on a local web page, live while they go on."""
    from evolute.dashboard.serve import serve

    serve([located(folder) for folder in runs or [Path("runs")]], host=host, port=port, token=token)


@app.command()
def presets() -> None:
    """List the presets that come with Evolute."""
    from evolute.config.layers import PRESETS
    from evolute.config.layers import presets as names

    for name in names():
        first = (PRESETS / f"{name}.yaml").read_text().splitlines()[0]
        print(f"{name:14} {first.removeprefix('# ')}")


def located(folder: Path) -> Path:
    """The run's folder, also when only its name in runs/ was given."""
    from evolute.runs import folders

    inside = Path("runs") / folder
    return inside if not folders.is_run(folder) and folders.is_run(inside) else folder


def main(arguments: list[str] | None = None) -> None:
    """The program `evolute`: expected trouble is one sentence and exit code 2, without a traceback."""
    arguments = spread(sys.argv[1:] if arguments is None else arguments)
    try:
        app(arguments, prog_name="evolute")
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except (ValueError, RuntimeError) as error:
        if not _expected(error):
            raise
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


def spread(arguments: list[str]) -> list[str]:
    """`-c a b` as `-c a -c b`: an option that takes several values takes all up to the next option."""
    spread_out: list[str] = []
    option, fresh = "", False
    for argument in arguments:
        if argument.startswith("-"):
            option, fresh = (argument, True) if argument in SEVERAL else ("", False)
            spread_out.append(argument)
            continue
        if option and not fresh:
            spread_out.append(option)
        spread_out.append(argument)
        fresh = False
    return spread_out


def _expected(error: Exception) -> bool:
    """Whether this is trouble that a sentence explains: a bad config, a disk, a lock, a run in which all failed."""
    from evolute.config.error import ConfigError
    from evolute.core.loop import AllFailedError
    from evolute.core.protocols import EngineError
    from evolute.core.resume import RemakeError
    from evolute.store.error import StoreError

    return isinstance(error, (ConfigError, StoreError, AllFailedError, EngineError, RemakeError))
