"""Image networks as defined and timed by timm: same parameters, random weights, one generated batch."""

from typing import Any

from workloads.networks.dlbench import gradient_descent
from workloads.networks.images import ConstantBatch
from workloads.networks.transformer import exact_gelu, positions, self_attention
from workloads.protocol.spec import RunSpec
from workloads.training.measured import first_losses, measured_memory


class Timm(ConstantBatch):
    """An image network for 224 × 224 images. Published results use the best batch size for each GPU."""

    kind = "image"
    source = "timm (PyTorch Image Models), Wightman, since 2019"
    metric = "images_per_s"
    input_shape = (224, 224, 3)
    published_differ = frozenset({"precision", "batch_size"})

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        """Return gradient descent with momentum, as in timm's own benchmark."""
        return gradient_descent(0.01, momentum=0.9)


class VitTiny(Timm):
    """Dosovitskiy et al.'s vision transformer with the width of DeiT-Ti."""

    id = "vit_tiny_224"
    attention = "plain"
    batch_size = 64
    parameters_count = 5_717_416
    blocks, width, heads, patch = 12, 192, 3, 16
    operations_per_example = 7_464_296_448
    proof = first_losses(2, 6.41, 7.25)
    memory_needs = measured_memory(tensorflow=(910, 64), torch=(440, 66), jax=(740, 76))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (224, 224, 3) to 1,000 scores."""
        from keras import Input, Model, initializers, layers, ops

        def dense(units: int, **options: Any) -> Any:
            return layers.Dense(units, kernel_initializer=initializers.RandomNormal(stddev=0.02), **options)

        def normalised(x: Any) -> Any:
            return layers.LayerNormalization(epsilon=1e-6)(x)

        fused = self.fused_attention(spec)
        inputs = Input(self.input_shape)
        x = layers.Conv2D(self.width, self.patch, strides=self.patch)(inputs)
        x = positions()(_class_token()(layers.Reshape((-1, self.width))(x)))
        for _ in range(self.blocks):
            parts = ops.split(dense(3 * self.width)(normalised(x)), 3, axis=-1)
            mixed = self_attention(self.heads, is_causal=False, fused=fused)(*parts)
            x = layers.Add()([x, dense(self.width)(mixed)])
            inner = dense(4 * self.width, activation=exact_gelu)(normalised(x))
            x = layers.Add()([x, dense(self.width)(inner)])
        return Model(inputs, dense(self.classes)(normalised(x)[:, 0]))


class ResNet50Of224(Timm):
    """ResNet-50 v1.5, which downsamples in the 3 × 3 convolution of a block."""

    id = "resnet50_224"
    batch_size = 32
    parameters_count = 25_610_152  # 25,557,032 of them trainable; the rest are moving averages
    stages: tuple[tuple[int, int], ...] = (64, 3), (128, 4), (256, 6), (512, 3)  # filters and blocks
    operations_per_example = 24_299_077_632
    proof = first_losses(2, 6.46, 7.84)
    memory_needs = measured_memory(tensorflow=(1320, 101), torch=(840, 280), jax=(1250, 106))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (224, 224, 3) to 1,000 scores."""
        from keras import Input, Model, layers

        inputs = Input(self.input_shape)
        x = convolution(inputs, 64, 7, 2, "relu")
        x = layers.MaxPooling2D(3, 2)(layers.ZeroPadding2D(1)(x))
        for stage, (filters, blocks) in enumerate(self.stages):
            for number in range(blocks):
                stride = 2 if number == 0 and stage > 0 else 1
                shortcut = convolution(x, 4 * filters, 1, stride) if number == 0 else x
                x = convolution(convolution(x, filters, 1, activation="relu"), filters, 3, stride, "relu")
                x = layers.Activation("relu")(layers.Add()([convolution(x, 4 * filters, 1), shortcut]))
        return Model(inputs, layers.Dense(self.classes)(layers.GlobalAveragePooling2D()(x)))


class ConvNextTiny(Timm):
    """Liu et al.'s ConvNeXt-T, a convolutional network designed like a transformer."""

    id = "convnext_tiny_224"
    batch_size = 32
    parameters_count = 28_589_128
    stages: tuple[tuple[int, int], ...] = (96, 3), (192, 3), (384, 9), (768, 3)  # width and blocks
    operations_per_example = 26_704_286_208
    proof = first_losses(2, 5.81, 6.85)
    memory_needs = measured_memory(tensorflow=(1310, 203), torch=(920, 159), jax=(1350, 227))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (224, 224, 3) to 1,000 scores."""
        from keras import Input, Model, initializers, layers

        start = initializers.TruncatedNormal(stddev=0.02)

        def normalised(x: Any) -> Any:
            return layers.LayerNormalization(epsilon=1e-6)(x)

        inputs = Input(self.input_shape)
        x = normalised(layers.Conv2D(self.stages[0][0], 4, strides=4, kernel_initializer=start)(inputs))
        for stage, (width, blocks) in enumerate(self.stages):
            if stage > 0:
                x = layers.Conv2D(width, 2, strides=2, kernel_initializer=start)(normalised(x))
            for _ in range(blocks):
                inner = normalised(layers.DepthwiseConv2D(7, padding="same", depthwise_initializer=start)(x))
                inner = layers.Dense(4 * width, activation=exact_gelu, kernel_initializer=start)(inner)
                inner = layers.Dense(width, kernel_initializer=start)(inner)
                x = layers.Add()([x, _scaled(1e-6)(inner)])
        x = normalised(layers.GlobalAveragePooling2D()(x))
        return Model(inputs, layers.Dense(self.classes, kernel_initializer=start)(x))


class EfficientNetB0(Timm):
    """Tan and Le's EfficientNet-B0, whose few operations are spread over many small layers."""

    id = "efficientnet_b0_224"
    batch_size = 64
    parameters_count = 5_330_564  # 5,288,548 of them trainable; the rest are moving averages
    # Number of blocks, kernel size, channels, and stride and expansion of the first block.
    stages: tuple[tuple[int, int, int, int, int], ...] = (
        *((1, 3, 16, 1, 1), (2, 3, 24, 2, 6), (2, 5, 40, 2, 6), (3, 3, 80, 2, 6)),
        *((3, 5, 112, 1, 6), (4, 5, 192, 2, 6), (1, 3, 320, 1, 6)),
    )
    operations_per_example = 2_293_212_480
    proof = first_losses(2, 6.25, 6.93)
    memory_needs = measured_memory(tensorflow=(1130, 100), torch=(580, 164), jax=(1680, 181))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (224, 224, 3) to 1,000 scores."""
        from keras import Input, Model, layers

        inputs = Input(self.input_shape)
        x = convolution(inputs, 32, 3, 2, "silu")
        for blocks, size, channels, stride, expansion in self.stages:
            for number in range(blocks):
                wide, gate, kinds = expansion * x.shape[-1], x.shape[-1] // 4, ("silu", "silu", "sigmoid")
                strides = stride if number == 0 else 1
                x = _narrow_block(x, size, channels, strides, wide=wide, gate=gate, kinds=kinds)
        x = layers.GlobalAveragePooling2D()(convolution(x, 1_280, 1, activation="silu"))
        return Model(inputs, layers.Dense(self.classes)(x))


class MobileNetV3Large(Timm):
    """Howard et al.'s MobileNetV3-Large, designed for phones, with few operations and cheap activations."""

    id = "mobilenetv3_large_224"
    batch_size = 64
    parameters_count = 5_507_432  # 5,483,032 of them trainable; the rest are moving averages
    # For each block: kernel size, inner and output channels, channels of the gate, activation, stride.
    blocks: tuple[tuple[int, int, int, int, str, int], ...] = (
        *((3, 16, 16, 0, "relu", 1), (3, 64, 24, 0, "relu", 2), (3, 72, 24, 0, "relu", 1)),
        *((5, 72, 40, 24, "relu", 2), (5, 120, 40, 32, "relu", 1), (5, 120, 40, 32, "relu", 1)),
        *((3, 240, 80, 0, "hard_silu", 2), (3, 200, 80, 0, "hard_silu", 1)),
        *((3, 184, 80, 0, "hard_silu", 1), (3, 184, 80, 0, "hard_silu", 1)),
        *((3, 480, 112, 120, "hard_silu", 1), (3, 672, 112, 168, "hard_silu", 1)),
        *((5, 672, 160, 168, "hard_silu", 2), (5, 960, 160, 240, "hard_silu", 1)),
        (5, 960, 160, 240, "hard_silu", 1),
    )
    operations_per_example = 1_288_700_544
    proof = first_losses(2, 6.53, 7.23)
    memory_needs = measured_memory(tensorflow=(1080, 66), torch=(500, 112), jax=(1670, 72))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (224, 224, 3) to 1,000 scores."""
        from keras import Input, Model, layers

        inputs = Input(self.input_shape)
        x = convolution(inputs, 16, 3, 2, "hard_silu")
        for size, wide, channels, gate, activation, stride in self.blocks:
            kinds = (activation, "relu", "hard_sigmoid")
            x = _narrow_block(x, size, channels, stride, wide=wide, gate=gate, kinds=kinds)
        x = layers.GlobalAveragePooling2D()(convolution(x, 960, 1, activation="hard_silu"))
        x = layers.Dense(1_280, activation="hard_silu")(x)
        return Model(inputs, layers.Dense(self.classes)(x))


def _narrow_block(
    x: Any, size: int, channels: int, stride: int, *, wide: int, gate: int, kinds: tuple[str, str, str]
) -> Any:
    """Apply an inverted bottleneck: expansion, depthwise convolution, optional gate, and projection.

    Args:
        x: Input.
        gate: Number of channels of the gate's hidden layer; 0 for no gate.
        kinds: Activations of the block, of the gate's hidden layer and of the gate's output.
    """
    from keras import layers

    before, given = x, x.shape[-1]
    if wide != given:
        x = convolution(x, wide, 1, activation=kinds[0])
    x = convolution(x, None, size, stride, kinds[0])
    if gate:
        share = layers.GlobalAveragePooling2D(keepdims=True)(x)
        share = layers.Conv2D(gate, 1, activation=kinds[1])(share)
        x = layers.Multiply()([x, layers.Conv2D(wide, 1, activation=kinds[2])(share)])
    x = convolution(x, channels, 1)
    return layers.Add()([x, before]) if stride == 1 and given == channels else x


def convolution(x: Any, filters: int | None, size: int, stride: int = 1, activation: str | None = None) -> Any:
    """Apply a convolution (without bias), batch normalisation and an activation; depthwise if `filters` is None.

    The padding is symmetric, as in PyTorch. With strides, Keras would pad two sides more than the others.
    """
    from keras import layers

    padding = "same"
    if stride > 1 and size > 1:
        x, padding = layers.ZeroPadding2D(size // 2)(x), "valid"
    options = {"strides": stride, "padding": padding, "use_bias": False}
    if filters is None:
        x = layers.DepthwiseConv2D(size, **options)(x)
    else:
        x = layers.Conv2D(filters, size, **options)(x)
    x = layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)
    return layers.Activation(activation)(x) if activation else x


def _class_token() -> Any:
    from keras import initializers, layers, ops

    class ClassToken(layers.Layer):  # type: ignore[misc] # Keras ships no types
        def build(self, shape: Any) -> None:
            start = initializers.RandomNormal(stddev=1e-6)
            self.token = self.add_weight(shape=(1, 1, shape[-1]), initializer=start, name="token")

        def call(self, x: Any) -> Any:
            token = ops.broadcast_to(self.token, (ops.shape(x)[0], 1, x.shape[-1]))
            return ops.concatenate([token, x], axis=1)

    return ClassToken()


def _scaled(start: float) -> Any:
    from keras import initializers, layers

    class LayerScale(layers.Layer):  # type: ignore[misc] # Keras ships no types
        def build(self, shape: Any) -> None:
            self.scale = self.add_weight(shape=(shape[-1],), initializer=initializers.Constant(start))

        def call(self, x: Any) -> Any:
            return x * self.scale

    return LayerScale()
