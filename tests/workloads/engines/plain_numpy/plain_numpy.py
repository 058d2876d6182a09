"""An engine in a hundred lines: plain NumPy, which trains stacks of dense layers."""

import math
from typing import TYPE_CHECKING, Any

from workloads.engines.engine import Engine, Started
from workloads.engines.info import EngineInfo
from workloads.protocol.spec import RunSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


class PlainNumpyInfo(EngineInfo):
    """What the app knows of it."""

    name = "plain_numpy"
    title = "Plain NumPy"
    backend = "numpy"


INFO = PlainNumpyInfo()


class PlainNumpy(Engine):
    """Trains with the network's declaration and optimizer; forward and backward passes are its own."""

    info = INFO

    def start(self, spec: RunSpec) -> Started:
        import numpy as np

        return Started(version=np.__version__, device="cpu")

    def compile(self, model: Any, spec: RunSpec, **options: Any) -> None:
        model.optimizer = options["optimizer"]

    def fit(self, model: Any, **arguments: Any) -> None:
        import numpy as np

        x, y, size = arguments["x"], arguments["y"], arguments["batch_size"]
        told = arguments["callbacks"]
        random = np.random.default_rng(0)
        model.stop_training = False
        for callback in told:
            callback.model = model
        for epoch in range(arguments["epochs"]):
            for callback in told:
                callback.on_epoch_begin(epoch)
            order = random.permutation(len(x))
            losses: list[float] = []
            for step in range(math.ceil(len(x) / size)):
                rows = order[step * size : (step + 1) * size]
                losses.append(train_step(model, x[rows], y[rows]))
                for callback in told:
                    callback.on_train_batch_end(step, {"loss": sum(losses) / len(losses)})
                if model.stop_training:
                    break
            logs = {"loss": sum(losses) / len(losses)} | validate(model, arguments)
            for callback in told:
                callback.on_epoch_end(epoch, logs)
            if model.stop_training:
                return


def train_step(model: Any, x: "Floats", y: "Floats") -> float:
    """Train on one batch; return its loss."""
    import numpy as np

    *inputs, probabilities = forward(model, x)
    # Of cross-entropy behind softmax.
    slopes: Floats = (probabilities - y) / np.float32(len(x))
    gradients: list[Floats] = []
    for layer, values in zip(reversed(dense(model)), reversed(inputs), strict=True):
        gradients[:0] = [values.T @ slopes, np.sum(slopes, axis=0)]
        slopes = slopes @ layer.kernel.T * (values > 0)
    model.optimizer.apply(gradients, model.trainable_variables)
    return cross_entropy(probabilities, y)


def dense(model: Any) -> list[Any]:
    """Return the layers that compute something: dropout drops nothing here."""
    return [layer for layer in model.layers if hasattr(layer, "kernel")]


def forward(model: Any, x: "Floats") -> list["Floats"]:
    """Return what each dense layer is given, then what the last one gives."""
    import numpy as np

    values: list[Floats] = [x]
    for layer in dense(model):
        x = x @ layer.kernel + layer.bias
        x = np.maximum(x, 0) if layer.activation == "relu" else softmax(x)
        values.append(x)
    return values


def validate(model: Any, arguments: dict[str, Any]) -> dict[str, float]:
    """Go through the validation data, if there is any; return its loss."""
    if arguments.get("validation_data") is None:
        return {}
    x, y = arguments["validation_data"]
    size, told = arguments["batch_size"], arguments["callbacks"]
    losses: list[float] = []
    for callback in told:
        callback.on_test_begin()
    for first in range(0, len(x), size):
        probabilities = forward(model, x[first : first + size])[-1]
        losses.append(cross_entropy(probabilities, y[first : first + size]))
        for callback in told:
            callback.on_test_batch_end(len(losses) - 1)
        if len(losses) == arguments.get("validation_steps"):
            break
    for callback in told:
        callback.on_test_end()
    return {"val_loss": sum(losses) / len(losses)}


def softmax(scores: "Floats") -> "Floats":
    import numpy as np

    powers: Floats = np.exp(scores - scores.max(axis=1, keepdims=True))
    powers /= powers.sum(axis=1, keepdims=True)
    return powers


def cross_entropy(probabilities: "Floats", y: "Floats") -> float:
    import numpy as np

    return float(-np.mean(np.log(np.maximum((probabilities * y).sum(axis=1), 1e-7))))


ENGINE = PlainNumpy()
