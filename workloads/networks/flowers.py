"""Large networks that classify five kinds of flowers, trained from random weights.

The study started from weights pretrained on ImageNet, and trained on photos. Both would have to be downloaded, and
neither affects the speed.
"""

from pathlib import Path
from typing import Any

from workloads.datasets import flower_twin
from workloads.engines import image_ops
from workloads.engines.image_pipeline import Examples, in_order, varied
from workloads.engines.registry import engine_named
from workloads.protocol.messages import message
from workloads.protocol.spec import RunSpec
from workloads.training.feed import Feed
from workloads.training.measured import first_losses, measured_memory
from workloads.training.training import Training

_SIDE_PX, _QUALITY = 331, 95
_START_RATE, _MOST_RATE = 1e-5, 5e-5
_RAMP_EPOCHS, _DECAY = 5, 0.8


class Flowers(Training):
    """A network from keras.applications with five outputs. All of its layers are trained."""

    version = 2
    kind = "image"
    study = "002"
    source = "Paul Mooney, 2020, after Martin Görner's notebook (study 002)"
    epoch_text = message("epoch_text.augmented_pictures", training=2_976, validation=680)
    epochs = 12
    batch_size = 16
    samples_per_epoch = flower_twin.TRAIN_COUNT
    validation_samples = flower_twin.TEST_COUNT
    # Chance level is ln 5 = 1.61.
    loss_band = (0.0, 1.9)
    prepares_input = True
    network: str  # the network's name in keras.applications

    def steps_per_epoch(self, spec: RunSpec) -> int:
        """Return the number of full batches in an epoch. The study dropped the incomplete last batch."""
        return self.samples_per_epoch // spec.batch_size

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats from 0 to 1 of shape (331, 331, 3) to 5 class probabilities."""
        from keras import Sequential, applications, layers

        body = getattr(applications, self.network)
        return Sequential(
            [
                body(weights=None, include_top=False, input_shape=(_SIDE_PX, _SIDE_PX, 3)),
                layers.GlobalAveragePooling2D(),
                layers.Dense(flower_twin.CLASSES, activation="softmax"),
            ]
        )

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        """Return Adam with a learning rate that changes every epoch."""
        from keras import optimizers

        optimizer = optimizers.Adam(_START_RATE)
        return {"optimizer": optimizer, "loss": "categorical_crossentropy", "metrics": ["accuracy"]}

    def callbacks(self, spec: RunSpec) -> list[Any]:
        """Return the callback that sets the learning rate before each epoch."""
        from keras.callbacks import LearningRateScheduler

        return [LearningRateScheduler(lambda epoch, _: learning_rate(epoch))]

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        """Return pictures that are decoded, augmented, shuffled and batched on the fly."""
        engine, twin = engine_named(spec.engine), flower_twin.load(_SIDE_PX)
        jpegs = tuple(image_ops.encoded(picture, _QUALITY) for picture in twin.pictures)
        train, test = (
            Examples(_SIDE_PX, flower_twin.CLASSES, jpegs, twin.which[part], twin.labels[part])
            for part in (slice(self.samples_per_epoch), slice(self.samples_per_epoch, None))
        )
        return Feed(
            x=engine.pictures(varied(train, spec.batch_size, spec.seed)),
            validation=engine.pictures(in_order(test, spec.batch_size)),
            samples=self.samples_per_epoch,
            validation_samples=self.validation_samples,
            shape=(_SIDE_PX, _SIDE_PX, 3),
            source="synthetic",
            checksum=twin.checksum,
        )


class FlowersXception(Flowers):
    """Xception, a network of separable convolutions."""

    id = "flowers_xception_331"
    parameters_count = 20_871_725
    network = "Xception"
    operations_per_example = 61_265_024_304
    memory_needs = measured_memory(tensorflow=(1600, 340), torch=(800, 800), jax=(1400, 410))


class FlowersResNet50(Flowers):
    """ResNet-50."""

    id = "flowers_resnet50_331"
    parameters_count = 23_597_957
    network = "ResNet50"
    operations_per_example = 52_249_205_760
    proof = first_losses(2, 0.8, 6.0)
    memory_needs = measured_memory(tensorflow=(1600, 260), torch=(1300, 600), jax=(1400, 340))


class FlowersVgg16(Flowers):
    """VGG-16 without its fully connected layers."""

    id = "flowers_vgg16_331"
    parameters_count = 14_717_253
    network = "VGG16"
    operations_per_example = 197_087_076_096
    memory_needs = measured_memory(tensorflow=(990, 190), torch=(1100, 290), jax=(1000, 490))


def learning_rate(epoch: int) -> float:
    """Return the study's learning rate for an epoch (from 0): a linear increase, then 20 % less each epoch."""
    above = _MOST_RATE - _START_RATE
    share = epoch / _RAMP_EPOCHS if epoch < _RAMP_EPOCHS else _DECAY ** (epoch - _RAMP_EPOCHS)
    return float(_START_RATE + above * share)
