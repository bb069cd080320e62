# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Small things that people stumble over on the first day."""

from pathlib import Path

import pytest

from conftest import Cli
from perigee.hosts import real_time

TINY = """
title = "tiny"
[run]
duration = "1 s"
cc = ["cubic"]
[source.dumbbell]
[[flow]]
cc = "*"
"""
CLASS = "class {}(perigee.CongestionControl):\n    pass\n"


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return path


def test_a_file_with_one_class_needs_no_name_of_it(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    done = cli("new-cc", "my_scheme", "--python", "--in", tmp_path)
    assert done.returncode == 0
    done = cli("run", tiny, "--cc", f"{tmp_path}/my_scheme.py")
    assert done.returncode == 0, done.stderr
    assert "MyScheme" in done.stdout


def test_a_file_with_several_classes_or_none_is_asked_which(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    two = tmp_path / "two.py"
    two.write_text("import perigee\n" + CLASS.format("One") + CLASS.format("Two"))
    done = cli("run", tiny, "--cc", two)
    assert done.returncode == 2
    assert f"say which class: {two}:One or {two}:Two" in done.stderr
    two.write_text("x = 1\n")
    assert "there is no class in it" in cli("check", tiny, "--cc", two).stderr


def test_scenarios_that_come_with_perigee_are_there_in_every_folder(cli: Cli, tmp_path: Path) -> None:
    done = cli("check", "scenarios/leo/london-new-york.toml")
    assert done.returncode == 0, done.stderr
    done = cli("check", "scenarios/leo/no-such.toml")
    assert done.returncode == 2


def test_a_comment_with_the_word_makes_no_recipe(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    from perigee.learn.vector import recipe_text

    tiny.write_text("# see [train]\n" + TINY)
    text, _ = recipe_text(tiny)
    assert f'file = "{tiny}"' in text


def test_half_a_flow_is_refused(cli: Cli, tmp_path: Path) -> None:
    recipe = tmp_path / "half.toml"
    world = "rate_mbps = 10\nrtt_ms = 20\nbuffer_bdp = 1\nflows = {}\nduration_s = 5\n"
    for flows, said in (("2.5", "world.flows: 2.5"), ('"choice(1, 1.5)"', "world.flows: 1.5")):
        recipe.write_text(f'title = "half"\n[world]\n{world.format(flows)}[train]\ntransitions = 10\nexplore = 5\n')
        done = cli("train", recipe, "--out", tmp_path / "out")
        assert done.returncode != 0
        assert said in done.stderr


@pytest.mark.skipif(real_time.why_not() is not None, reason="no hosts in real time here")
def test_a_kernel_for_each_host_is_refused_in_real_time(cli: Cli, tiny: Path) -> None:
    done = cli("exec", tiny, "--set", "hosts.kernel=own", "--clock", "real", "--at", "s1", "--", "true")
    assert done.returncode in (2, 125)
    assert "no effect in real time" in done.stderr
    done = cli("run", tiny, "--set", "hosts.kernel=own", "--hosts", "linux", "--clock", "real")
    assert done.returncode == 2
    assert "no effect in real time" in done.stderr
