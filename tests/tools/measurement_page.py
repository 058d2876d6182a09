"""Writes the tables in docs/measurement.md about the proof of training: python3 -m tests.tools.measurement_page.

A test checks them.
"""

import inspect
from collections.abc import Iterator, Sequence

from app.core.messages import ENGLISH, sentence
from tests.conftest import ROOT
from tests.workloads.training.cheat_probe import CASES, Case, cases_of
from workloads import CATALOGUE
from workloads.engines.registry import ENGINES, engine_title
from workloads.workload import Proof

PAGE = ROOT / "docs" / "measurement.md"
CHEATS_HEAD = ("cheat", "network", "what shows it", *map(engine_title, ENGINES))
BANDS_HEAD = (
    *("workload", "million operations", "steps", "synthetic data", "real data"),
    *("honest runs", "learning rate of zero", "shuffled labels", "learning shows"),
)
# Of honest runs, and with mixed-up labels: `python -m tests.tools.proof`. None where the labels are part of a
# stream.
MEASURED: dict[str, tuple[tuple[float, float], float | None]] = {
    "cifar10_keras_cnn": ((1.26, 1.57), 2.32),
    "mnist_mlp": ((1.91, 1.96), 2.34),
    "mnist_cnn": ((1.62, 1.76), 2.31),
    "mnist_cnn_nodropout_adam": ((0.864, 0.941), None),
    "cifar10_cnn": ((2.05, 2.06), None),
    "imdb_fasttext_unigram": ((0.678, 0.687), 0.694),
    "imdb_fasttext": ((0.693, 0.694), 0.695),
    "imdb_bidirectional_lstm": ((0.693, 0.694), 0.694),
    "lstm_text_generation": ((2.75, 3.1), 3.17),
    "text_generator_keras": ((3.78, 3.85), None),
    "fashion_mnist_cnn_412k": ((1.81, 1.91), 2.31),
    "fcn_s": ((18.7, 20.9), None),
    "fcn_r": ((6.07, 7.36), 7.09),
    "alexnet_s": ((4.57, 5.06), None),
    "alexnet_r": ((2.32, 2.36), 2.33),
    "googlenet": ((11.0, 11.0), None),
    "resnet_56": ((2.36, 2.92), 2.83),
    "lstm_ptb_32": ((272.0, 272.0), None),
    "lstm_ptb_64": ((537.0, 537.0), None),
    "ptb_lstm_mxnet": ((191.0, 208.0), None),
    "fc_parametric": ((2.95, 3.25), None),
    "cnn_parametric": ((6.31, 6.47), None),
    "rnn_parametric": ((6.91, 6.91), None),
}


def main() -> None:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")


def page(text: str) -> str:
    return with_table(with_table(text, CHEATS_HEAD, list(cheat_rows())), BANDS_HEAD, list(band_rows()))


def with_table(text: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    first = _line(head)
    before, _, after = text.partition(first)
    assert after, f"no table with {head}"
    lines = after.splitlines(keepends=True)
    old = next(number for number, line in enumerate([*lines, ""]) if not line.startswith("|"))
    return before + first + "|" + "---|" * len(head) + "\n" + "".join(map(_line, rows)) + "".join(lines[old:])


def cheat_rows() -> Iterator[tuple[str, ...]]:
    for name, case in CASES.items():
        if case.codes:
            said = str(inspect.getdoc(case.cheat)).splitlines()[0].removesuffix(".")
            shown = " · ".join(map(_short, sorted(case.codes)))
            tried = ("tested" if name in cases_of(engine) else "–" for engine in ENGINES)
            yield said, f"`{case.workload}`{_settings(case)}", shown, *tried


def _short(code: str) -> str:
    name = f"short.{code}"
    return sentence(name) if name in ENGLISH else code.replace("_", " ")


def _settings(case: Case) -> str:
    settings = [
        *["compiled"] * bool(case.asked.get("jit")),
        *[case.asked.get("precision", "").removeprefix("mixed_")] * ("precision" in case.asked),
        *[case.asked.get("preset", "")] * ("preset" in case.asked),
        *["real digits"] * case.real,
    ]
    return "".join(f", {each}" for each in settings)


def band_rows() -> Iterator[tuple[str, ...]]:
    """Yield what is expected of each network's steps, and where runs ended."""
    for name, workload in CATALOGUE.items():
        if not workload.trains or workload.is_demo:
            continue
        operations = workload.operations_per_example
        million = _million(operations) if operations else "–"
        yield f"`{name}`", million, *_band_cells(name, workload.proof)


def _million(operations: int) -> str:
    return f"{operations / 1e6:,.0f}" if operations > 1e8 else f"{operations / 1e6:.3g}"


def _band_cells(name: str, proof: Proof | None) -> Iterator[str]:
    if proof is None:
        yield from ["–"] * 7
        return
    honest, mixed_up = MEASURED.get(name, (None, None))
    yield str(proof.steps)
    for source in ("synthetic", "real"):
        yield _range(proof.bands.get(source))
    yield _range(honest)
    yield from (_cheated(loss, proof) for loss in (proof.unlearned, mixed_up))
    learns = [source for source in proof.bands if proof.shows_learning(source)]
    yield "no" if not learns else "yes" if len(learns) == len(proof.bands) else f"{' and '.join(learns)} data"


def _range(ends: tuple[float, float] | None) -> str:
    return "–" if ends is None else f"{ends[0]:g} to {ends[1]:g}"


def _cheated(loss: float | None, proof: Proof) -> str:
    if loss is None:
        return "–"
    low, high = proof.bands["synthetic"]
    return f"{loss:g}, inside" if low <= loss <= high else f"{loss:g}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    main()
