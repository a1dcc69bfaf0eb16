"""The program `evolute` and its commands. Each imports what it needs when it is called, so that help is quick."""

from __future__ import annotations

import json
import secrets
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
    list[str] | None, typer.Argument(help="Presets or config files; later ones win. `evolute presets` lists presets.")
]
Configs = Annotated[list[str] | None, typer.Option("-c", "--config", help="Config files; later ones win.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("-m", "--set", help="key=value; a range such as log[1e-4, 1e-2] is evolved, an empty value removes the key."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object per turn and a final one.")]
TakeOver = Annotated[bool, typer.Option("--take-over", help="Take over a run from a process on another host that has died.")]
Slot = Annotated[int | None, typer.Option("--member", help="Use this member instead of the best.")]
Target = Annotated[Path | None, typer.Option("--folder", help="Folder of the new run; by default the next free one in runs/.")]
Kind = Literal["png", "svg", "pdf"]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run, or its name in runs/.")]
PrintJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def run(
    preset: Preset = None,
    config: Configs = None,
    override: Overrides = None,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Folder of the run; by default the next free one in runs/.")
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Start a new run even if one with the same config is unfinished.")] = False,
    edited: Annotated[
        bool, typer.Option("--edited", help="Continue an unfinished run although your own code has changed since.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the resolved config and what the run would take, then stop.")
    ] = False,
    as_json: AsJson = False,
    take_over: TakeOver = False,
) -> None:
    """Train a population. The same command again resumes a run that has not finished."""
    from evolute.cli.run import run

    run(
        preset or [],
        config or [],
        override or [],
        folder=folder,
        new=new,
        edited=edited,
        dry_run=dry_run,
        as_json=as_json,
        take_over=take_over,
    )


@app.command()
def resume(folder: RunFolder, override: Overrides = None, as_json: AsJson = False, take_over: TakeOver = False) -> None:
    """Resume a run. -m changes settings that may change, such as stop.turns=200."""
    from evolute.cli.run import resume

    resume(located(folder), override or [], as_json=as_json, take_over=take_over)


@app.command(name="ls")
def list_runs(
    parent: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder that holds the runs.")] = Path("runs"),
    as_json: PrintJson = False,
) -> None:
    """List runs, newest first. Shows their state, best score, environment, learner, strategy, age and size."""
    from evolute.report.data.run_row import run_row
    from evolute.runs import folders

    rows = sorted(map(run_row, folders.runs(parent)), key=lambda row: float(row["age"]))
    if as_json:
        print(json.dumps(rows))
        return
    from evolute.report.summary import print_runs

    if rows:
        print_runs(rows)
    else:
        print(f"no runs in {parent}")


@app.command()
def ratings(
    folders: Annotated[list[Path], typer.Argument(metavar="RUN…", help="One or several runs whose members play each other.")],
    turns: Annotated[bool, typer.Option("--turns", help="Show ratings along each member's line of descent.")] = False,
    as_json: PrintJson = False,
) -> None:
    """Show the ratings of members that play each other, who is best, and how sure that is."""
    from evolute.cli.games import ratings

    ratings([located(one) for one in folders], turns=turns, as_json=as_json)


@app.command()
def tournament(
    folders: Annotated[
        list[Path], typer.Argument(metavar="RUN…", help="One run: its members meet; several: the best of each.")
    ],
    past: Annotated[
        int, typer.Option("--past", min=0, help="Also this many earlier states of the best, spread over each run.")
    ] = 0,
    bot: Annotated[
        list[str] | None, typer.Option("--bot", help="Also a bot of the game, such as random; can be repeated.")
    ] = None,
    bots: Annotated[bool, typer.Option("--bots", help="Also all bots of the game.")] = False,
    games: Annotated[
        int,
        typer.Option("--games", min=2, help="Games of each pair, or a few more, so that all sit in each seat equally often."),
    ] = 200,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed.")] = 0,
    path: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Also write it with plots into an .html file, which needs no network."),
    ] = None,
    as_json: PrintJson = False,
) -> None:
    """Let everybody play everybody. Shows who beats whom, ratings, the Nash mixture and alpha-rank."""
    from evolute.cli.games import tournament
    from evolute.runs import folders as known

    named = "all" if bots else bot or []
    runs = [located(one) for one in folders]
    for run in runs:
        if bots and not known.is_run(run):
            raise typer.BadParameter(
                f"{run} is not a run, and --bots takes no names: all bots of the game join; --bot {run} adds this one alone",
                param_hint="--bots",
            )
    tournament(runs, past=past, bots=named, games=games, seed=seed, path=path, as_json=as_json)


@app.command()
def exploit(
    folder: RunFolder,
    steps: Annotated[str, typer.Option("--steps", help="Steps to train each member of the response, as in 500k or 2M.")] = "2M",
    members: Annotated[int, typer.Option("--members", min=1, help="Members of the response, of which the best counts.")] = 4,
    games: Annotated[int, typer.Option("--games", min=2, help="Games that measure the response, after it was trained.")] = 1000,
    target: Target = None,
    override: Overrides = None,
    as_json: PrintJson = False,
) -> None:
    """Train a response to a run's best member, which stays as it is. Prints how much it can be exploited, at least."""
    from evolute.cli.exploit import exploit

    exploit(
        located(folder), steps=steps, members=members, games=games, target=target, overrides=override or [], as_json=as_json
    )


@app.command()
def show(
    folder: RunFolder,
    member: Annotated[int | None, typer.Option("--member", help="Show this member instead of the best.")] = None,
    as_json: PrintJson = False,
) -> None:
    """Show a run's population, best schedule, lineage and hints."""
    from evolute.report.data.details import first_failure, run_details
    from evolute.report.data.hints import hints
    from evolute.runs.result import Run
    from evolute.runs.turns import TurnTable

    opened = Run.open(located(folder))
    data = {**run_details(opened, member), "hints": hints(TurnTable.read(opened.folder))}
    if as_json:
        print(json.dumps(data))
        return
    from evolute.report.summary import full_summary, printed

    failure = first_failure(opened.population)
    printed(full_summary(data, None if failure is None else failure.report.error))


@app.command()
def steer(
    folder: RunFolder,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="REQUEST…", help="pin M | unpin M | clone FROM TO | set M NAME=VALUE… | bounds 'NAME=log[1e-5, 1e-3]'…"
        ),
    ],
    turn: Annotated[int, typer.Option("--turn", min=0, help="Not before this many turns of the member have finished.")] = 0,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Leave the request, also for a run that is resumed later.")
    ] = False,
) -> None:
    """Steer a run while it trains: pin a member, clone one into another, set values, or change the bounds of a range."""
    from evolute.cli.steer import steer

    steer(located(folder), words, turn=turn, wait=not no_wait)


@app.command()
def export(
    folder: RunFolder,
    path: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="File to write; by default policy.npz, or policy.zip for sb3.")
    ] = None,
    member: Slot = None,
    front: Annotated[
        bool, typer.Option("--front", help="Export all of the front of a run with several objectives, into a folder.")
    ] = False,
) -> None:
    """Export a policy for use without Evolute. It needs numpy alone, or is a zip of Stable-Baselines3."""
    from evolute.cli import policy

    if front:
        policy.export_front(located(folder), path)
    else:
        policy.export(located(folder), path, member)


@app.command()
def play(
    folder: RunFolder,
    member: Slot = None,
    episodes: Annotated[
        int | None, typer.Option("--episodes", min=1, help="Number of episodes; by default the learner decides.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="Random seed of the episodes; by default 1, and a fresh one against you."),
    ] = None,
    video: Annotated[Path | None, typer.Option("--video", help="Also record one episode, as a .gif or .mp4 file.")] = None,
    film: Annotated[Path | None, typer.Option("--film", hidden=True)] = None,
    sample: Annotated[
        bool | None,
        typer.Option(
            "--sample/--greedy",
            help="Sample actions or take the likeliest; by default as did better after the run, and in games sample.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="RUN|BOT|human", help="In a game: whom to play, the best of a run, a bot, or you."),
    ] = None,
    ends: Annotated[
        bool, typer.Option("--ends", help="With --video: record both ends of the front of a run with several objectives.")
    ] = False,
    as_json: PrintJson = False,
) -> None:
    """Evaluate a member in fresh episodes and print its returns. In a game, let it play --against a run, a bot or you."""
    if seed is None:
        seed = secrets.randbelow(2**31) if against == "human" else 1  # who plays again does not want the same games
    if against is not None:
        from evolute.cli.games import play_game

        other = str(located(Path(against)))
        play_game(
            located(folder), member, other, games=episodes, seed=seed, video=video or film, sample=sample, as_json=as_json
        )
        return
    from evolute.cli import policy

    if ends:
        policy.film_ends(located(folder), video or film, seed=seed)
        return
    policy.play(located(folder), member, episodes=episodes, seed=seed, video=video or film, sample=sample, as_json=as_json)


@app.command()
def envs(
    source: Annotated[
        str | None, typer.Argument(metavar="SOURCE", help="List the environments of this source, such as gymnax.")
    ] = None,
    as_json: PrintJson = False,
) -> None:
    """List environments and how to install them."""
    from evolute.cli.envs import listed

    listed(source, as_json=as_json)


@app.command(name="check-game")
def check_game(
    game: Annotated[
        str | None, typer.Argument(metavar="GAME", help="The command that starts the game, or a port that it connects to.")
    ] = None,
    episodes: Annotated[int, typer.Option("--episodes", min=1, help="Episodes of each seat to play.")] = 4,
    limit: Annotated[float, typer.Option("--limit", min=1, help="Seconds that they may take.")] = 120.0,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of all messages instead.")] = False,
) -> None:
    """Check a game that connects over a local socket. It is played with random actions."""
    from evolute.cli import check_game

    if schema:
        check_game.print_schema()
    elif game is None:
        raise typer.BadParameter("name a command or a port, or --schema", param_hint="GAME")
    else:
        check_game.check(game, episodes=episodes, limit=limit)


@app.command()
def plot(
    folder: RunFolder,
    path: Annotated[Path | None, typer.Option("-o", "--out", help="File to write; by default <run>.png here.")] = None,
    kind: Annotated[Kind | None, typer.Option("--format", help="File format.")] = None,
    only: Annotated[list[str] | None, typer.Option("--only", help="Draw only the plot of this name; can be repeated.")] = None,
    dark: Annotated[bool, typer.Option("--dark", help="Use a dark theme.")] = False,
) -> None:
    """Draw plots of a run. They show curves, family tree, hyper-parameters, importance, diversity and time."""
    from evolute.cli.plot import plot

    plot(located(folder), path, kind=kind, only=only or [], dark=dark)


@app.command()
def report(
    folder: RunFolder,
    path: Annotated[Path | None, typer.Option("-o", "--out", help="File to write; by default <run>.html here.")] = None,
    video: Annotated[bool, typer.Option("--video", help="Record an episode of each member that was evaluated.")] = False,
) -> None:
    """Write a run's plots and tables, and a page for each member, into one HTML file. It needs no network."""
    from evolute.cli.report import report

    report(located(folder), path, video=video)


@app.command()
def replay(
    folder: RunFolder,
    member: Slot = None,
    exact: Annotated[bool, typer.Option("--exact", help="Use the same seeds, for the same weights bit for bit.")] = False,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Random seed of the new agent.")] = None,
    target: Target = None,
    override: Overrides = None,
) -> None:
    """Train one fresh agent with the best member's schedule. It starts from new weights."""
    from evolute.cli.replay import replay

    replay(located(folder), member, exact=exact, seed=seed, target=target, overrides=override or [])


@app.command()
def schedule(
    folder: RunFolder,
    member: Slot = None,
    path: Annotated[
        Path | None, typer.Option("-o", "--out", help="File to write, .yaml or .csv; by default it is printed.")
    ] = None,
    kind: Annotated[Literal["yaml", "csv"] | None, typer.Option("--format", help="Format.")] = None,
) -> None:
    """Export the best member's hyper-parameter schedule. Simple curves that fit it are added."""
    from evolute.cli.schedule import schedule

    schedule(located(folder), member, path, kind)


@app.command()
def fork(
    folder: RunFolder,
    turn: Annotated[int, typer.Option("--turn", min=0, help="Last turn to take over from the old run.")],
    target: Target = None,
    override: Overrides = None,
) -> None:
    """Start a new run from an earlier turn of an old one. -m changes its settings, such as strategy=pb2 or a range."""
    from evolute.cli.fork import fork

    fork(located(folder), turn, target=target, overrides=override or [])


@app.command()
def distill(folder: RunFolder, member: Slot = None, target: Target = None, override: Overrides = None) -> None:
    """Train one student of the best member, such as a smaller network. -m says what differs: ppo.widths=[32,32] steps=100k."""
    from evolute.cli.distill import distill

    distill(located(folder), member, target=target, overrides=override or [])


@app.command()
def compare(
    folders: Annotated[
        list[Path], typer.Argument(metavar="RUN…", help="Runs of one task; those that differ only in their seed are one arm.")
    ],
    path: Annotated[
        Path | None, typer.Option("-o", "--out", help="Plot to write; comparison.png by default, `-o ''` writes none.")
    ] = None,
    as_json: PrintJson = False,
) -> None:
    """Compare runs of one task. Prints interquartile means, bootstrap intervals and probabilities of improvement."""
    from evolute.cli.compare import compare

    compare([located(folder) for folder in folders], path, as_json=as_json)


@app.command()
def dashboard(
    runs: Annotated[list[Path] | None, typer.Argument(metavar="RUNS…", help="Runs, or folders of runs.")] = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on; any but loopback asks for a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = 8188,
    token: Annotated[str | None, typer.Option("--token", envvar="EVOLUTE_TOKEN", help="Ask visitors for this token.")] = None,
) -> None:
    """Show runs on a local web page, live while they train."""
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
    """The program `evolute`. An expected error is one sentence and exit code 2, without a traceback."""
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
    """Whether this error explains itself in a sentence: a bad config, a full disk, a lock, or that all members failed."""
    from evolute.config.error import ConfigError
    from evolute.core.loop import AllFailedError
    from evolute.core.protocols import EngineError, LinkError
    from evolute.core.resume import RemakeError
    from evolute.store.error import StoreError

    return isinstance(error, (ConfigError, StoreError, AllFailedError, EngineError, LinkError, RemakeError))
