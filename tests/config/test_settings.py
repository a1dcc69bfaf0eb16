"""Settings that belong to no plug-in: counts, durations and which checkpoints to keep."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from evolute.config.error import ConfigError
from evolute.config.layers import override, preset, stack
from evolute.config.resolve import resolved
from evolute.config.settings import FIELDS
from evolute.core.durability import Keep


def toy(*overrides):
    return resolved(stack([preset("toy"), *map(override, overrides)]))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("500k", 500_000),
        ("25M", 25_000_000),
        ("1G", 10**9),
        ("1.5k", 1500),
        ("2.3M", 2_300_000),
        ("2 M", 2_000_000),
        ("1_000", 1000),
        ("1e6", 1_000_000),
        ("12", 12),
    ],
)
@pytest.mark.parametrize("key", ["interval", "stop.turns", "stop.steps", "stop.total"])
def test_counts_may_be_written_short(key, text, number):
    value = toy(f"{key}={text}").settings.flat()[key]
    assert (type(value), value) == (int, number)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("2h", 7200), ("1d", 86400), ("1.5h", 5400), ("0.5", 0.5)]
)
@pytest.mark.parametrize("key", ["stop.time", "limit"])
def test_durations_may_be_written_with_a_unit(key, text, seconds):
    assert toy(f"{key}={text}").settings.flat()[key] == seconds


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("stop.turns=0", "greater than 0"),
        ("stop.turns=-5", "greater than 0"),
        ("stop.steps=0k", "greater than 0"),
        ("stop.steps=abc", "whole number, or short as in 500k"),
        ("stop.steps=5K", "500k"),
        ("stop.steps=2.5", "integer"),
        ("interval=10m", "500k"),
        ("stop.time=0", "greater than 0"),
        ("stop.time=10min", "seconds, or a time as in 90s, 10m"),
        ("stop.time=12:30", "10m"),
        ("stop.score=high", "number"),
        ("stop.total=0", "greater than 0"),
        ("stop.total=-8", "greater than 0"),
        ("stop.total=1", "all 2 members together, and each needs a step: set at least 2"),
        ("stop.patience=0", "greater than 0"),
        ("stop.patience=-1", "greater than 0"),
        ("stop.patience=0.5", "integer"),
        ("population=0", "greater than 0"),
        ("population=many", "integer"),
        ("seed=-1", "greater than or equal to 0"),
        ("mode=asink", "'sync' or 'async'"),
        ("durable=0", "auto|greater than 0"),
        ("durable=often", "auto"),
        ("init.hparams=3", "list"),
        ("keep=frist", "last N"),
        ("keep=every", "every N"),
        ("keep=last -1", "last N"),
    ],
)
def test_a_value_that_is_not_allowed_is_named_with_what_would_be(setting, said):
    key, _, text = setting.partition("=")
    with pytest.raises(ConfigError, match=said) as error:
        toy(setting)
    assert str(error.value).startswith(f"{key} = ")
    assert text in str(error.value)
    assert "(-m)" in str(error.value)


@pytest.mark.parametrize(
    ("setting", "awkward"),
    [
        ("keep=frist", "should be 'frist'"),
        ("stop.turns=1.2.3k", "should be could not"),
        ("stop.time=1.2.3m", "should be could not"),
    ],
)
def test_a_message_is_a_sentence(setting, awkward):
    with pytest.raises(ConfigError) as error:
        toy(setting)
    assert awkward not in str(error.value)


def test_durable_says_that_a_number_would_do_too():
    with pytest.raises(ConfigError, match=r"auto.*(number|integer|turns|greater)"):
        toy("durable=0")


@pytest.mark.parametrize(
    ("text", "keep"),
    [
        ("last", Keep(last=1, best=0)),
        ("last 3", Keep(last=3, best=0)),
        ("best", Keep(last=1, best=1)),
        ("best 4", Keep(last=1, best=4)),
        ("lineage-of-best", Keep(last=1, best=0, lineage=True)),
        ("every 10", Keep(last=1, best=0, every=10)),
        ("last 2, best, lineage-of-best, every 5", Keep(last=2, best=1, lineage=True, every=5)),
        ("every 5,best,last 2", Keep(last=2, best=1, every=5)),
        ("[last 2, best]", Keep(last=2, best=1)),
    ],
)
def test_keep_names_the_checkpoints_that_stay(text, keep):
    assert toy(f"keep={text}").settings.keep == keep


def test_keeping_no_generation_is_refused_since_nothing_could_be_resumed():
    with pytest.raises(ConfigError, match="keep"):
        toy("keep=last 0")


@pytest.mark.parametrize("key", FIELDS)
def test_every_default_is_allowed_and_every_setting_is_explained(key):
    field = FIELDS[key]
    TypeAdapter(field.type).validate_python(field.default)
    assert field.meaning


def test_one_number_where_a_list_belongs_is_told_so():
    with pytest.raises(ConfigError, match=r"ppo.widths = 64 \(-m\): should be a list, in brackets"):
        resolved(stack([preset("cartpole"), override("ppo.widths=64")]))
