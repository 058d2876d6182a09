"""Finds the bands in which the losses of honest first steps lie, and how far those of cheats are outside.

    python -m tests.tools.proof [WORKLOAD …]    (all training workloads if none is named)
    python -m tests.tools.proof --real [WORKLOAD …]    (for which packages carry real data: real_data)

Each honest run has another seed. Cheats are a learning rate of zero and, where labels can be mixed up, wrong
labels. The band of a workload is what its honest runs span, widened on each side by half of that and by a
twentieth of the loss.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.sure import only, sure
from tests.tools.real_data import FOLDER, use_real_data
from tests.workloads.sizes import is_large
from workloads import CATALOGUE
from workloads.engines.registry import engine_named
from workloads.training.training import Training

SEEDS = (0, 1, 2)
# Others learn slowly, or take 10 to 20 s a step on two cores: large networks make two, all others a hundred.
STEPS = {
    "imdb_fasttext_unigram": 780,
    "cifar10_cnn": 780,
    "imdb_fasttext": 200,
    **dict.fromkeys(("ptb_lstm_mxnet", "fcn_s"), 50),
    **dict.fromkeys(("alexnet_r", "alexnet_s", "lstm_ptb_32", "lstm_ptb_64", "resnet_56", "googlenet"), 20),
    **dict.fromkeys(("fc_parametric", "cnn_parametric", "rnn_parametric"), 20),
}
MOMENTS = (2, 5, 10, 20, 50, 100, 200, 400, 780)
CHEATS = ("zero_rate", "wrong_labels")
# An honest loss this far below that of a cheat is none of chance.
APART = 0.95


def main(names: list[str]) -> None:
    """Print a line of JSON for each workload: after how many steps honest losses are apart, if ever."""
    trained = [name for name, each in CATALOGUE.items() if isinstance(each, Training)]
    for workload_id in names or trained:
        print(json.dumps(summary(workload_id) or {"workload": workload_id, "failed": True}), flush=True)


def summary(workload_id: str) -> dict[str, Any] | None:
    """Return a workload's losses at the first moment at which honest ones are apart; None if no run ended."""
    is_slow = is_large(only(Training, CATALOGUE[workload_id]))
    steps = STEPS.get(workload_id, 2 if is_slow else 100)
    seeds = SEEDS if steps > 2 else SEEDS[:2]
    honest = [losses for seed in seeds if (losses := _child(workload_id, steps, seed, "honest"))]
    kinds = CHEATS if steps > 2 else ()
    cheats = {kind: losses for kind in kinds if (losses := _child(workload_id, steps, 0, kind))}
    if not honest:
        return None
    place = _apart(honest, list(cheats.values()))
    return {
        "workload": workload_id,
        "steps": MOMENTS[place],
        "honest": [losses[place] for losses in honest],
        "band": _band([losses[place] for losses in honest]),
        **{kind: losses[place] for kind, losses in cheats.items()},
    }


def main_real(names: list[str]) -> None:
    """Print a line of JSON for each workload: losses on real data after the steps of its band."""
    real = [name for name, each in CATALOGUE.items() if each.proof is not None and "real" in each.proof.bands]
    for workload_id in names or real:
        proof = sure(CATALOGUE[workload_id].proof)
        place = MOMENTS.index(proof.steps)
        runs = [("honest", seed) for seed in SEEDS] + [(kind, 0) for kind in CHEATS]
        losses: dict[str, list[float]] = {}
        for kind, seed in runs:
            if done := _child(workload_id, proof.steps, seed, kind, "real"):
                losses.setdefault(kind, []).append(done[place])
        print(json.dumps({"workload": workload_id, "steps": proof.steps, **losses}), flush=True)


def _apart(honest: list[list[float]], cheats: list[list[float]]) -> int:
    """Return the first moment that separates all cheats from honest runs; the last one if none does."""
    for place in range(len(honest[0])):
        worst = max(losses[place] for losses in honest)
        if MOMENTS[place] >= 20 and cheats and all(worst < APART * losses[place] for losses in cheats):
            return place
    return len(honest[0]) - 1


def _band(honest: list[float]) -> tuple[float, float]:
    margin = (max(honest) - min(honest)) / 2 + 0.05 * max(honest)
    return float(f"{min(honest) - margin:.3g}"), float(f"{max(honest) + margin:.3g}")


def _child(workload_id: str, steps: int, seed: int, kind: str, data: str = "synthetic") -> list[float]:
    """Return the mean losses at each moment, in a process of its own; nothing where the cheat cannot be made."""
    own = [sys.executable, "-m", "tests.tools.proof", "--child"]
    script = [*own, workload_id, str(steps), str(seed), kind, data]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "1", "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(script, env=environment, capture_output=True, text=True, check=False)
    try:
        losses: list[float] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        sys.stderr.write(done.stderr)
        return []
    return losses


def train(workload_id: str, steps: int, seed: int, kind: str) -> list[float]:
    """Train as the worker does, on the synthetic twin, honestly or not; return the mean loss at each moment."""
    import keras
    import numpy as np

    workload = only(Training, CATALOGUE[workload_id])
    spec = workload.default_spec(seed=seed, device="cpu", data="synthetic")
    keras.utils.set_random_seed(seed)
    feed = workload.load(None, spec)
    model = workload.build(spec)
    options = workload.compile_options(spec)
    if kind == "zero_rate":
        options["optimizer"] = keras.optimizers.SGD(0.0)
    model.compile(**options)
    arguments = feed.fit_arguments(engine_named(spec.engine), spec.batch_size) | {"validation_data": None}
    if kind == "wrong_labels":
        if feed.y is None or isinstance(feed.y, list):
            return []
        arguments["y"] = np.random.default_rng(1).permutation(feed.y)
    losses: list[float] = []

    class Record(keras.callbacks.Callback):  # type: ignore[misc] # Keras ships no types
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            losses.append(float(logs["loss"]))
            if len(losses) == steps:
                self.model.stop_training = True

    whole = None if feed.y is not None else workload.steps_per_epoch(spec)
    callbacks = [*workload.callbacks(spec), Record()]
    model.fit(**arguments, epochs=1, steps_per_epoch=whole, callbacks=callbacks, verbose=0)
    return [losses[moment - 1] for moment in MOMENTS if moment <= len(losses)]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        if sys.argv[6] == "real":
            use_real_data(Path(os.environ.get("FASHION_MNIST", FOLDER)))
        print(json.dumps(train(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])))
    elif sys.argv[1:2] == ["--real"]:
        main_real(sys.argv[2:])
    else:
        main(sys.argv[1:])
