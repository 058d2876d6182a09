"""Networks that learn to predict the next character in a book by Nietzsche."""

from pathlib import Path
from typing import Any

from workloads.datasets import nietzsche
from workloads.engines.registry import engine_named
from workloads.networks.images import one_hot
from workloads.networks.recurrent import Recurrent, lstm
from workloads.protocol.messages import message
from workloads.protocol.spec import RunSpec
from workloads.training.feed import Feed
from workloads.training.measured import OTHER_DATA, first_losses, measured_memory

_LENGTH = 40
_SYMBOLS = nietzsche.SYMBOLS


class _Nietzsche(Recurrent):
    kind = "text"
    study = "000"
    epoch_text = message("epoch_text.pieces", pieces=200_285, characters=40)
    dataset = "nietzsche"
    epochs = 10
    batch_size = 128
    samples_per_epoch = 200_285


class LstmTextGeneration(_Nietzsche):
    """One LSTM on one-hot characters."""

    id = "lstm_text_generation"
    source = "Keras examples as run by Max Woolf, 2017 (study 000)"
    parameters_count = 102_585
    # Chance level is ln 57 = 4.04.
    loss_band = (0.0, 4.1)
    operations_per_example = 20_441_856
    proof = first_losses(100, 2.42, 3.43, real=(1.37, 3.61, OTHER_DATA), unlearned=4.04)
    memory_needs = measured_memory(tensorflow=(1300, 0.36), torch=(870, 0.45), jax=(1000, 0))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps one-hot characters of shape (40, 57) to 57 probabilities."""
        from keras import Sequential, layers

        return Sequential(
            [layers.Input((_LENGTH, _SYMBOLS)), lstm(spec, 128), layers.Dense(_SYMBOLS, activation="softmax")]
        )

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        """Return RMSprop with the study's learning rate."""
        from keras import optimizers

        return {"optimizer": optimizers.RMSprop(0.01, rho=0.9), "loss": "categorical_crossentropy"}

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        """Return the excerpts that the study's script creates, one-hot encoded with one byte per value: 457 MB."""
        text = nietzsche.load(file)
        pieces, following = nietzsche.windows(text.ids, _LENGTH, 3)
        x = engine_named(spec.engine).one_hot(pieces, _SYMBOLS)
        return _feed(text, x, one_hot(following, _SYMBOLS), (_LENGTH, _SYMBOLS))


class TextGeneratorKeras(_Nietzsche):
    """An embedding and one LSTM, with two heads that both predict the next character."""

    id = "text_generator_keras"
    source = "Max Woolf, text-generator-keras, 2017 (study 000)"
    parameters_count = 458_430
    # Sum of both heads. Chance level is 1.2 × ln 57 = 4.85.
    loss_band = (0.0, 4.9)
    operations_per_example = 53_903_616
    proof = first_losses(20, 3.55, 4.08, real=(1.89, 4.53, OTHER_DATA), unlearned=5.35)
    memory_needs = measured_memory(tensorflow=(970, 0.5), torch=(490, 0.32), jax=(720, 0))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps 40 character ids to 57 probabilities from each of the two heads."""
        from keras import Input, Model, layers

        inputs = Input((_LENGTH,), dtype="int32")
        state = lstm(spec, 128)(layers.Embedding(_SYMBOLS, 300)(inputs))
        x = state
        for units in (512, 256):
            x = layers.Dense(units, use_bias=False)(x)
            x = layers.BatchNormalization()(x)
            x = layers.Activation("relu")(x)
        main = layers.Dense(_SYMBOLS, activation="softmax", name="main")(x)
        auxiliary = layers.Dense(_SYMBOLS, activation="softmax", name="auxiliary")(state)
        return Model(inputs, [main, auxiliary])

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        """Return Adam with the study's decay, applied at every step, and the heads' loss weights."""
        from keras import optimizers

        rate = optimizers.schedules.InverseTimeDecay(0.001, decay_steps=1, decay_rate=1e-4)
        losses = ["categorical_crossentropy"] * 2
        return {"optimizer": optimizers.Adam(rate), "loss": losses, "loss_weights": [1.0, 0.2]}

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        """Return the excerpts as character ids, with the same target for both heads."""
        text = nietzsche.load(file)
        pieces, following = nietzsche.windows(text.ids, _LENGTH, 3)
        target = one_hot(following, _SYMBOLS)
        return _feed(text, pieces.astype("int32"), [target, target], (_LENGTH,))


def _feed(text: nietzsche.Text, x: Any, y: Any, shape: tuple[int, ...]) -> Feed:
    return Feed(x=x, y=y, samples=len(x), shape=shape, source=text.source, checksum=text.checksum)
