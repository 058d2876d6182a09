"""MXNet's language model, which reads the Penn Treebank sentence by sentence and predicts the next word."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.datasets import ptb
from workloads.engines.registry import engine_named
from workloads.networks.ptb import NO_WORD, sequence_loss
from workloads.networks.recurrent import Recurrent, lstm
from workloads.protocol.messages import message
from workloads.protocol.spec import RunSpec
from workloads.training.feed import Feed
from workloads.training.measured import OTHER_DATA, first_losses, measured_memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BUCKETS = (10, 20, 30, 40, 50, 60)


class PtbLstmMxnet(Recurrent):
    """MXNet's example. Batches contain whole sentences of similar length, padded to the length of a bucket.

    Sentences are sorted by length and split into batches, so that an epoch reads each sentence once. Padding is
    computed, but excluded from the loss and from the words per second.
    """

    id = "ptb_lstm_mxnet"
    kind = "text"
    study = "001"
    source = "MXNet example/rnn, as timed by Alibaba Cloud, 2018 (study 001)"
    epoch_text = message("epoch_text.sentences", sentences=42_068, words=929_589)
    metric = "words_per_s"
    dataset = "ptb"
    epochs = 25
    batch_size = 32
    samples_per_epoch = ptb.LINES[ptb.FILES[0]]
    units_per_example = round(ptb.TOKENS[ptb.FILES[0]] / samples_per_epoch)
    parameters_count = 4_651_600
    # Sum over a sentence of 21 targets. Chance level is 21 ln 10,000 = 194.
    loss_band = (0.0, 200.0)
    proof = first_losses(50, 172.0, 227.0, real=(95.0, 310.0, OTHER_DATA), unlearned=209.0)
    memory_needs = measured_memory(tensorflow=(860, 0.83), torch=(460, 6.6), jax=(670, 7.4))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps word ids to 10,000 scores for each next word."""
        from keras import Sequential, layers

        options = {"gates": "sigmoid", "return_sequences": True}
        return Sequential(
            [
                layers.Input((None,), dtype="int32"),
                layers.Embedding(ptb.VOCABULARY, 200),
                lstm(spec, 200, **options),
                lstm(spec, 200, **options),
                layers.Dense(ptb.VOCABULARY),
            ]
        )

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        from keras import optimizers

        return {"optimizer": optimizers.SGD(0.01, weight_decay=1e-5), "loss": sequence_loss}

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        """Return batches of sentences of similar length, reshuffled each epoch."""
        words = ptb.load(file)
        offsets, size = words.sentences[0], spec.batch_size
        batches = engine_named(spec.engine).generated(
            lambda: sentence_batches(words.train, offsets, size, spec.seed),
            others=lambda: empty_batches(offsets, size),
        )
        return Feed(
            x=batches,
            samples=len(offsets) - 1,
            shape=(max(_BUCKETS),),
            source=words.source,
            checksum=words.checksum,
        )


def sentence_batches(
    ids: "NDArray[np.int32]", offsets: "NDArray[np.int64]", batch_size: int, seed: int
) -> "Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]":
    """Yield inputs and targets endlessly. Sentences longer than the largest bucket are truncated."""
    import numpy as np

    lengths = _lengths(offsets)
    by_length = np.argsort(lengths, kind="stable")
    random = np.random.default_rng(seed)
    while True:
        for first in random.permutation(np.arange(0, len(lengths), batch_size)):
            rows = by_length[first : first + batch_size]
            bucket = _bucket(lengths[rows[-1]])
            inputs = np.zeros((len(rows), bucket), np.int32)
            targets = np.full_like(inputs, NO_WORD)
            for row, start, length in zip(range(len(rows)), offsets[rows], lengths[rows], strict=True):
                inputs[row, :length] = ids[start : start + length]
                targets[row, : length - 1] = inputs[row, 1:length]
            yield inputs, targets


def empty_batches(
    offsets: "NDArray[np.int64]", batch_size: int
) -> "Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]":
    """Yield a batch without words for each batch shape that occurs with these sentences."""
    import numpy as np

    lengths = np.sort(_lengths(offsets))
    lasts = np.minimum(np.arange(0, len(lengths), batch_size) + batch_size, len(lengths)) - 1
    shapes = {(batch_size, _bucket(length)) for length in lengths[lasts]}
    if rest := len(lengths) % batch_size:
        shapes.add((rest, _bucket(lengths[-1])))
    for shape in sorted(shapes):
        yield np.zeros(shape, np.int32), np.full(shape, NO_WORD, np.int32)


def _lengths(offsets: "NDArray[np.int64]") -> "NDArray[np.int64]":
    import numpy as np

    return np.minimum(np.diff(offsets), max(_BUCKETS))


def _bucket(length: int) -> int:
    return next(bucket for bucket in _BUCKETS if bucket >= length)
