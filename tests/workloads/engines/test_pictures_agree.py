"""Pillow's and NumPy's pictures are TensorFlow's, but for rounding; and each reads the other's records."""

import json
from typing import Any

import pytest

from tests.child import told_by

pytestmark = [pytest.mark.engine, pytest.mark.long]


@pytest.fixture(scope="module")
def child(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process with TensorFlow found."""
    home = str(tmp_path_factory.mktemp("pictures"))
    found: dict[str, Any] = json.loads(told_by("-m", "tests.workloads.engines.pictures_child", home))
    return found


def test_pictures_are_made_alike(child: dict[str, Any]) -> None:
    assert all(mean < 1 for mean, _ in child["made"]["pixels"])
    assert all(abs(ours - theirs) < 0.01 * theirs for ours, theirs in child["made"]["lengths"])


def test_pictures_are_decoded_as_exactly_as_tensorflow_can(child: dict[str, Any]) -> None:
    assert child["made"]["decoded"] == [[0, 0]] * 6


def test_photos_are_fitted_alike(child: dict[str, Any]) -> None:
    # TensorFlow's usual decoder is a little less exact, most of all on noise as here.
    assert all(mean < 3 for mean, _ in child["made"]["fitted"])


@pytest.mark.parametrize("packer", ["default", "tensorflow"])
@pytest.mark.parametrize(("source", "most", "at_most"), [("jpegs", 2.5, 20), ("shards", 0.05, 1)])
def test_each_reads_what_either_packed(
    child: dict[str, Any], packer: str, source: str, most: float, at_most: float
) -> None:
    (ours, theirs), (mean, largest) = child["read"][packer][source]
    assert ours == theirs == sorted(2 * list(range(10)))
    assert mean < most
    assert largest <= at_most


def test_photos_are_changed_as_keras_layers_change_them(child: dict[str, Any]) -> None:
    assert all(largest < 1e-3 for _, largest in child["varied"]["differences"])


def test_keras_layers_draw_what_we_draw(child: dict[str, Any]) -> None:
    drawn = child["varied"]
    assert drawn["flips"] == [pytest.approx(0.5, abs=0.04), 4_000]
    # Not from 0.2: in Keras 3, the number is only a bound upwards.
    assert drawn["contrast"] == [*map(pytest.approx, (1.0, 1.8, 1.4), (1e-2,) * 3), 4_000]
    assert drawn["degrees"] == [*map(pytest.approx, (-36, 36, 72 / 12**0.5), (1e-2,) * 3), 4_000]
