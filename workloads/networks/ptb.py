"""DLBench's language models, which read the Penn Treebank as one continuous text and predict the next word."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.datasets import ptb
from workloads.engines.registry import engine_named
from workloads.networks.dlbench import DlBench
from workloads.networks.recurrent import Recurrent, lstm
from workloads.protocol.errors import bad_parameters
from workloads.protocol.messages import message
from workloads.protocol.spec import RunSpec
from workloads.training.feed import Feed
from workloads.training.measured import OTHER_DATA, first_losses, measured_memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TOKENS = ptb.TOKENS[ptb.FILES[0]]
NO_WORD = -1  # target that the loss ignores


class _PtbLstm(DlBench, Recurrent):
    kind = "text"
    dataset = "ptb"
    epochs = 20
    batch_size = 128
    parameters_count = 6_180_624
    divides_batches = False  # the states belong to the streams of a whole batch
    length: int  # of a chunk in words

    def steps_per_epoch(self, spec: RunSpec) -> int:
        return (_TOKENS // spec.batch_size - 1) // self.length

    def check(self, spec: RunSpec) -> None:
        """Check the spec, and reject batch sizes that make the streams shorter than one chunk."""
        super().check(spec)
        if self.steps_per_epoch(spec) < 1:
            raise bad_parameters("workload.streams_too_short", batch_size=spec.batch_size, words=self.length)

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps word ids to 10,000 scores for each next word."""
        # The LSTMs are stateful: the final state of a chunk is the initial state of the next one.
        from keras import Sequential, initializers, layers

        start = initializers.RandomUniform(-0.1, 0.1)
        options = {
            "gates": "sigmoid",
            "return_sequences": True,
            "stateful": True,
            "unit_forget_bias": False,
            "kernel_initializer": start,
            "recurrent_initializer": start,
        }
        return Sequential(
            [
                layers.Input(batch_shape=(spec.batch_size, self.length), dtype="int32"),
                layers.Embedding(ptb.VOCABULARY, 256, embeddings_initializer=start),
                lstm(spec, 256, **options),
                lstm(spec, 256, **options),
                layers.Dense(ptb.VOCABULARY, kernel_initializer=start),
            ]
        )

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        from keras import optimizers

        return {"optimizer": optimizers.SGD(0.1, global_clipnorm=5.0), "loss": sequence_loss}

    def callbacks(self, spec: RunSpec) -> list[Any]:
        """Return a callback that resets the LSTMs' states when the text restarts."""
        from keras.callbacks import Callback

        class Forget(Callback):  # type: ignore[misc] # Keras ships no types
            def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
                for layer in self.model.layers:
                    if getattr(layer, "stateful", False):
                        layer.reset_state()

        return [Forget()]

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        """Return the text as parallel streams, cut into chunks. Targets are shifted by one word."""
        words = ptb.load(file)
        steps = self.steps_per_epoch(spec)
        stream_words = _TOKENS // spec.batch_size
        streams = words.train[: spec.batch_size * stream_words].reshape(spec.batch_size, stream_words)

        def pieces(first: int) -> "NDArray[np.int32]":
            cut = streams[:, first : first + steps * self.length]
            return cut.reshape(spec.batch_size, steps, self.length).swapaxes(0, 1)

        return Feed(
            x=engine_named(spec.engine).pieces(pieces(0), pieces(1)),
            samples=steps * spec.batch_size,
            shape=(self.length,),
            source=words.source,
            checksum=words.checksum,
        )


class PtbLstm32(_PtbLstm):
    """Two LSTMs that read 32 words per sequence."""

    id = "lstm_ptb_32"
    epoch_text = message("epoch_text.streams", words=929_589, streams=128, steps=226)
    samples_per_epoch = 226 * 128
    length = 32
    # Sum over a sequence. Chance level is 32 ln 10,000 = 295.
    loss_band = (0.0, 300.0)
    operations_per_example = 692_846_592
    proof = first_losses(20, 258.0, 286.0, real=(136.0, 300.0, OTHER_DATA), unlearned=295.0)
    memory_needs = measured_memory(tensorflow=(930, 2), torch=(470, 6.3), jax=(550, 5.1))


class PtbLstm64(_PtbLstm):
    """The same network with 64 words per sequence."""

    id = "lstm_ptb_64"
    epoch_text = message("epoch_text.streams", words=929_589, streams=128, steps=113)
    samples_per_epoch = 113 * 128
    length = 64
    loss_band = (0.0, 600.0)
    operations_per_example = 1_385_693_184
    proof = first_losses(20, 510.0, 564.0, real=(268.0, 600.0, OTHER_DATA), unlearned=589.0)
    memory_needs = measured_memory(tensorflow=(770, 4), torch=(480, 13), jax=(530, 10))


def sequence_loss(targets: Any, scores: Any) -> Any:
    """Return the cross-entropy of each sequence, summed over its words."""
    from keras import losses, ops

    entropy = losses.sparse_categorical_crossentropy(ops.maximum(targets, 0), scores, from_logits=True)
    return ops.sum(ops.where(targets == NO_WORD, 0.0, entropy), axis=-1)
