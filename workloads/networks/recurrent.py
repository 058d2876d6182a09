"""LSTM layers in two forms: step by step, as in 2017, or as one fused operation."""

from typing import Any

from workloads.engines.registry import compiles_always, engine_title
from workloads.protocol.errors import WorkloadError
from workloads.protocol.messages import Message, message
from workloads.protocol.parameters import Choice, Parameter
from workloads.protocol.spec import RunSpec
from workloads.training.training import Training


class Recurrent(Training):
    """A network whose LSTM layers can take either form. Both forms have the same parameters."""

    parameters = (Parameter("lstm", Choice(("non-fused", "fused")), "non-fused", message("parameter_help.lstm")),)

    def check(self, spec: RunSpec) -> None:
        """Check the spec, and reject compiled fused layers if the engine would silently fail to fuse them."""
        super().check(spec)
        if _is_fused(spec) and spec.jit and not compiles_always(spec.engine):
            said = message("engine.not_fused_and_compiled", engine=engine_title(spec.engine))
            raise WorkloadError("bad_parameters", said)

    def gpu_need(self, spec: RunSpec) -> Message | None:
        """Explain that fused layers require a GPU. On a CPU, every engine computes an LSTM step by step."""
        if _is_fused(spec):
            return message("engine.fused_needs_gpu", engine=engine_title(spec.engine))
        return super().gpu_need(spec)

    def expected_parameters(self, spec: RunSpec) -> int | None:
        return self.parameters_count


def lstm(spec: RunSpec, units: int, *, gates: Any = None, **options: Any) -> Any:
    """Return an LSTM layer in the form that the spec requests.

    Args:
        spec: Spec of the run.
        gates: Activation of the gates; None for the default of Keras 2. Fused layers always use the sigmoid.
    """
    from keras import layers

    if _is_fused(spec):
        return layers.LSTM(units, **options)
    return layers.LSTM(units, use_cudnn=False, recurrent_activation=gates or hard_sigmoid, **options)


def hard_sigmoid(x: Any) -> Any:
    """Return the hard sigmoid of Keras 2, which is steeper than the one in Keras 3."""
    from keras import ops

    return ops.clip(0.2 * x + 0.5, 0.0, 1.0)


def _is_fused(spec: RunSpec) -> bool:
    return spec.parameters.get("lstm") == "fused"
