"""Trials of TensorFlow's devices."""

from typing import Any

import tensorflow as tf  # noqa: TID253 - imported late, by the doctor's process only

from workloads.engines.device_trial import DeviceTrial, Work, convolution, layer, product, text_or_none


class TensorFlowTrial(DeviceTrial):
    """Computes with TensorFlow's own functions."""

    errors = (tf.errors.OpError, *DeviceTrial.errors)

    def build(self) -> dict[str, Any]:
        build = tf.sysconfig.get_build_info()
        return {
            "version": str(tf.__version__),
            "cuda": bool(build.get("is_cuda_build")),
            "rocm": bool(build.get("is_rocm_build")),
            "cuda_version": text_or_none(build.get("cuda_version")),
            "cudnn_version": text_or_none(build.get("cudnn_version")),
            "capabilities": [str(one) for one in build.get("cuda_compute_capabilities") or ()],
        }

    def gpus(self) -> list[dict[str, str | None]]:
        devices = []
        for index, device in enumerate(tf.config.list_physical_devices("GPU")):
            details = tf.config.experimental.get_device_details(device)
            capability = details.get("compute_capability")
            shown = f"{capability[0]}.{capability[1]}" if capability else None
            devices.append({"id": f"gpu:{index}", "name": details.get("device_name"), "capability": shown})
        return devices

    def steps(self, device: str) -> dict[str, Work]:
        """Return a product, a convolution, and a gradient computation compiled by XLA."""
        kind, _, index = device.partition(":")
        place = f"/{kind.upper()}:{index or 0}"
        # Operations that the device doesn't support must fail instead of silently running on another device.
        tf.config.set_soft_device_placement(False)
        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)

        def on_device(work: Work) -> Work:
            def call() -> tuple[Any, Any]:
                with tf.device(place):
                    result, expected = work()
                return _from(result, place), expected

            return call

        return {"matmul": on_device(_product), "convolution": on_device(_convolution), "xla": on_device(_compiled)}


def _from(result: Any, place: str) -> Any:
    if not str(result.device).endswith(place.removeprefix("/")):
        raise ValueError(f"The result was computed on {str(result.device)[-40:]}.")
    return result.numpy()


def _product() -> tuple[Any, Any]:
    left, right, expected = product()
    # The multiplication after the product runs TensorFlow's own kernel instead of a library's.
    return tf.multiply(tf.matmul(left, right), tf.constant(0.5)), expected


def _convolution() -> tuple[Any, Any]:
    images, kernels, expected = convolution()
    return tf.nn.relu(tf.nn.conv2d(images, kernels, strides=1, padding="VALID")), expected


def _compiled() -> tuple[Any, Any]:
    inputs, weights, expected = layer()

    def step(values: Any, kernel: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(kernel)
            # tanh uses CUDA's libdevice, which may be missing.
            loss = tf.reduce_sum(tf.tanh(tf.matmul(values, kernel)))
        return tape.gradient(loss, kernel)

    return tf.function(step, jit_compile=True)(tf.constant(inputs), tf.constant(weights)), expected
