"""PyTorch, for CPUs on all systems and for NVIDIA, AMD, Intel and Apple GPUs."""

import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from workloads.engines.computers import Store
from workloads.engines.device_trial import DeviceTrial
from workloads.engines.engine import Started
from workloads.engines.info import TORCH
from workloads.engines.keras_feed import Batch, Batches, KerasFeed
from workloads.engines.peers import local_rank
from workloads.engines.torch_ranks import Ended, Ranks, RanksStore
from workloads.protocol.errors import WorkloadError
from workloads.protocol.messages import Message, message
from workloads.protocol.spec import RunSpec

# On CPUs, torch raises a plain RuntimeError.
_OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")
# More shapes than any network's batches have. By default, torch.compile silently stops compiling after eight.
_SHAPES = 64
_ENDLESS = 1_000_000  # epochs; the leader ends its followers


class Torch(KerasFeed):
    """Keras on PyTorch."""

    info = TORCH
    _device = "cpu"
    _ranks: Ranks | None = None

    def start(self, spec: RunSpec) -> Started:
        """Import PyTorch, then set the device and threads. Keras is imported later and uses this device."""
        import torch

        if spec.threads is not None:
            torch.set_num_threads(spec.threads)
        if spec.jit:
            # PyTorch compiles a step for each batch shape, as XLA does, instead of one step for all shapes.
            torch._dynamo.config.automatic_dynamic_shapes = False
            torch._dynamo.config.recompile_limit = _SHAPES
        if spec.onednn is not None:
            torch.backends.mkldnn.set_flags(spec.onednn)
        if (tf32 := spec.settings.get("tf32")) is not None:
            # Set all three, because PyTorch raises an error later if cuDNN's two settings differ.
            for part in (torch.backends.cuda.matmul, torch.backends.cudnn.conv, torch.backends.cudnn.rnn):
                part.fp32_precision = "tf32" if tf32 else "ieee"
        device, self._device, device_name = _choose_device(torch, spec)
        if (
            spec.jit
            and (said_no := compile_refusal(self._device.partition(":")[0], torch.version.hip)) is not None
        ):
            raise WorkloadError("bad_parameters", said_no)
        os.environ["KERAS_TORCH_DEVICE"] = self._device
        if spec.device_count > 1:
            if self._device == "cpu" and spec.threads is None:
                torch.set_num_threads(max(1, torch.get_num_threads() // spec.devices_here))
            self._ranks = Ranks(self._device)
            self.leads = self._ranks.leads
        self._seed = spec.seed
        mkldnn = torch.backends.mkldnn if device == "cpu" else None
        return Started(
            version=str(torch.__version__),
            device=device,
            device_name=device_name,
            tf32=_uses_tf32(torch) if self._device.startswith("cuda") else None,
            onednn=None if mkldnn is None else bool(mkldnn.is_available() and mkldnn.enabled),
            threads=int(torch.get_num_threads()),
        )

    def trial(self) -> DeviceTrial:
        from workloads.engines.torch_trial import TorchTrial

        return TorchTrial()

    def is_out_of_memory(self, error: BaseException) -> bool:
        names = {kind.__name__ for kind in type(error).__mro__}
        if "OutOfMemoryError" in names:
            return True
        return "RuntimeError" in names and any(part in str(error) for part in _OUT_OF_MEMORY)

    def store(self) -> Store:
        return RanksStore()

    def step_watch(self, model: Any, spec: RunSpec) -> "StepWatch | None":
        """Watch the steps unless torch.compile compiles them."""
        if self._ranks is not None:
            self._ranks.share(model)
        watch = None if spec.jit else StepWatch(model)
        if self._ranks is not None:
            self._ranks.command(model, watch)
        return watch

    def examples_seen(self, model: Any) -> int | None:
        seen = super().examples_seen(model)
        return seen if seen is None or self._ranks is None else self._ranks.examples()

    def of_all_devices(self, numbers: list[float]) -> list[float]:
        return numbers if self._ranks is None else self._ranks.of_all(numbers)

    def devices_used(self, model: Any) -> int:
        return 1 if self._ranks is None else self._ranks.alike(model)

    def part(self, batches: Batches) -> Batches:
        ranks = self._ranks
        if ranks is None:
            return batches
        return replace(batches, make=lambda: map(ranks.part, batches.make()))

    def fit(self, model: Any, **arguments: Any) -> None:
        """Train to the end or, as a follower, until the leader ends the training."""
        if self._ranks is None:
            super().fit(model, **arguments)
            return
        validation = arguments.get("validation_data")
        if self._ranks.leads:
            if validation is not None:
                self._ranks.validate(model, None)
            super().fit(model, **arguments)
            model.__dict__.pop("evaluate", None)
            self._ranks.end()
            return
        if validation is not None:
            batches = self._validation(validation, arguments.get("batch_size"))
            steps = arguments.get("validation_steps")
            self._ranks.validate(
                model, lambda: model.evaluate(self._adapter(batches), steps=steps, verbose=0, return_dict=True)
            )
        with suppress(Ended):
            super().fit(model, **(arguments | {"epochs": _ENDLESS, "validation_data": None}))

    def gpus(self) -> int:
        return int(self._device != "cpu")

    def gpu_memory_peak_bytes(self) -> int | None:
        """Return the peak GPU memory allocated by PyTorch, in bytes; None on the CPU or an Apple GPU."""
        return self._memory_bytes("max_memory_allocated")

    def gpu_memory_reserved_bytes(self) -> int | None:
        """Return the peak GPU memory reserved by PyTorch, in use or not; None on the CPU or an Apple GPU."""
        return self._memory_bytes("max_memory_reserved")

    def _memory_bytes(self, name: str) -> int | None:
        import torch

        kind = self._device.partition(":")[0]
        if kind not in ("cuda", "xpu"):
            return None
        return int(getattr(getattr(torch, kind), name)(self._device))

    def native(self, batch: Batch) -> Batch:
        """Convert a batch to tensors. For CUDA devices, use pinned memory, which they can copy from directly."""
        import torch

        pinned = self._device.startswith("cuda")

        def tensor(array: Any) -> Any:
            if not array.flags.writeable:  # PyTorch shares the memory, and would warn
                array = array.copy()
            made = torch.from_numpy(array)
            return made.pin_memory() if pinned else made

        x, y = batch
        return tensor(x), [tensor(part) for part in y] if isinstance(y, list | tuple) else tensor(y)

    def warm_up(self, model: Any, trained: Sequence[Batch], validated: Sequence[Batch]) -> None:
        """Compile the steps for additional batch shapes, then restore the model's state."""
        import torch

        if not model.jit_compile:
            return
        # A step whose weights have no gradients yet would be compiled separately from all later steps.
        for weight in model.trainable_variables:
            weight.value.grad = torch.zeros_like(weight.value)
        variables = [*model.variables, *model.optimizer.variables]
        before = [variable.value.detach().clone() for variable in variables]
        with _same_random_numbers(torch, self._device):
            model.train()
            for batch in trained:
                model.train_function([batch])
            model.eval()
            model.make_test_function()
            for batch in validated:
                model.test_function([batch])
        for variable, value in zip(variables, before, strict=True):
            variable.assign(value)

    def has_fused_attention(self, *, drops: bool) -> bool:
        return self._device != "cpu" or not drops

    def fused_attention(
        self, queries: Any, keys: Any, values: Any, *, is_causal: bool, dropout: float = 0.0
    ) -> Any:
        import torch

        shared = queries.shape[2] // keys.shape[2]
        if shared > 1:  # some kernels require as many heads, and without them, plain attention would be computed
            keys, values = (x.repeat_interleave(shared, dim=2) for x in (keys, values))
        parts = [x.transpose(1, 2) for x in (queries, keys, values)]
        mix = torch.nn.functional.scaled_dot_product_attention
        return mix(*parts, dropout_p=dropout, is_causal=is_causal).transpose(1, 2)

    def matmul_step(
        self, rows: int, inner: int, columns: int, dtype: str, *, transposed: bool
    ) -> Callable[[], object]:
        """Return a function that multiplies two matrices and blocks until the result is ready."""
        import torch

        kind = getattr(torch, dtype)
        left = torch.randn((rows, inner), device=self._device).to(kind)
        right = torch.randn((columns, inner) if transposed else (inner, columns), device=self._device).to(kind)
        right = right.T if transposed else right
        return lambda: _waited(left @ right)

    def attention_step(
        self, mix: Callable[..., Any], shape: tuple[int, int, int, int], dtype: str, *, is_backward: bool
    ) -> Callable[[], object]:
        import torch

        options: dict[str, Any] = {"dtype": getattr(torch, dtype), "device": self._device}
        parts = [torch.randn(shape, requires_grad=is_backward, **options) for _ in range(3)]
        slopes = torch.randn(shape, **options)

        def call() -> float:
            mixed = mix(*parts)
            if not is_backward:
                return float(mixed[-1, -1, -1, -1])
            gradients = torch.autograd.grad(mixed, parts, slopes)
            return float(gradients[0][-1, -1, -1, -1])

        return call

    def add_step(self, size_bytes: int) -> Callable[[], object]:
        """Return a function that adds one array to another in place, without allocating memory."""
        import torch

        total = torch.zeros(size_bytes // 4, device=self._device)
        other = torch.ones(size_bytes // 4, device=self._device)
        return lambda: _waited(total.add_(other))

    def all_reduce_step(self, size_bytes: int) -> Callable[[], float]:
        assert self._ranks is not None
        return self._ranks.all_reduce_step(size_bytes)

    def together(self, call: Callable[[], object], lead: Callable[[], object]) -> None:
        assert self._ranks is not None
        if self._ranks.leads:
            lead()
            self._ranks.end()
        else:
            with suppress(Ended):
                while True:
                    call()

    def transfer_steps(self, size_bytes: int) -> tuple[Callable[[], object], Callable[[], object]]:
        import torch

        here = torch.ones(size_bytes // 4)
        there = here.to(self._device)
        return lambda: _waited(here.to(self._device)), lambda: _waited(there.to("cpu"))


ENGINE = Torch()


def _choose_device(torch: Any, spec: RunSpec) -> tuple[str, str, str | None]:
    """Return the name of this process's device in specs and in PyTorch, and the GPU's name."""
    kind, names = gpus_of(torch)
    indices = ENGINE.gpu_indices(spec, len(names))
    if indices is None:
        return "cpu", "cpu", None
    index = indices[local_rank()]
    return f"gpu:{index}", kind if kind == "mps" else f"{kind}:{index}", names[index]


def compile_refusal(kind: str, hip: str | None) -> Message | None:
    """Explain what torch.compile lacks for a kind of device; None if nothing is missing.

    Args:
        kind: Kind of device, as named by PyTorch: "cpu", "cuda", "xpu" or "mps".
        hip: Version of AMD's HIP that PyTorch was built for; None for other builds.
    """
    if kind in ("cuda", "xpu") and importlib.util.find_spec("triton") is None:
        return message("engine.no_triton", engine=TORCH.title)
    is_self_contained = kind == "mps" or (sys.platform == "win32" and kind == "cuda" and hip is None)
    return None if is_self_contained else TORCH.compiler_problem()


def gpus_of(torch: Any) -> tuple[str, list[str | None]]:
    """Return the GPU backend of this build ("cuda", also for AMD, "xpu" or "mps") and the names of its GPUs."""
    for kind in ("cuda", "xpu"):
        part = getattr(torch, kind, None)
        if part is not None and part.is_available():
            return kind, [part.get_device_name(index) for index in range(part.device_count())]
    if torch.backends.mps.is_available():
        return "mps", [None]
    return "cpu", []


def _same_random_numbers(torch: Any, device: str) -> Any:
    """Return a context manager that restores the random number generators on exit, except on Apple GPUs."""
    kind, _, index = device.partition(":")
    if kind not in ("cuda", "xpu"):
        return torch.random.fork_rng([])
    return torch.random.fork_rng([int(index)], device_type=kind)


def _uses_tf32(torch: Any) -> bool:
    """Return whether both float32 products and convolutions use TensorFloat-32. By default, only the latter do."""
    return bool(torch.backends.cudnn.conv.fp32_precision == torch.backends.cuda.matmul.fp32_precision == "tf32")


def _waited(numbers: Any) -> float:
    """Return the last value, after waiting until all values are computed."""
    return float(numbers.flatten()[-1])


class StepWatch:
    """Counts the examples of all training steps.

    Args:
        model: A compiled model whose steps aren't compiled by torch.compile.
    """

    def __init__(self, model: Any) -> None:
        self._examples = 0
        self._model = model
        self._predicted = 0
        self._compute_loss, model.compute_loss = model.compute_loss, self._remember
        self._apply, model.optimizer.apply = model.optimizer.apply, self._count

    def examples(self) -> int:
        return self._examples

    def _remember(self, *arguments: Any, **named: Any) -> Any:
        if self._model.training:
            # Don't keep the predictions. They would occupy memory until the next step.
            made = named["y_pred"] if "y_pred" in named else arguments[2]
            self._predicted = min(map(len, made)) if isinstance(made, list | tuple) else len(made)
        return self._compute_loss(*arguments, **named)

    def _count(self, gradients: Any, *arguments: Any, **named: Any) -> Any:
        self._examples += self._predicted
        return self._apply(gradients, *arguments, **named)
