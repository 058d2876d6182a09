"""What engines are called, support and need. Imports no engine, because the app uses it too."""

import shutil
import sys
from collections.abc import Mapping

from workloads.protocol.messages import Message, message
from workloads.protocol.spec import RunSpec

# For C++, which torch.compile generates for the CPU. Triton, which it uses for GPUs, needs one too, except
# triton-windows with NVIDIA's, which includes a small compiler.
_COMPILERS = ("cl",) if sys.platform == "win32" else ("c++", "g++", "clang++")
# Settings without a field in RunSpec that don't depend on the engine.
OF_ALL_ENGINES = frozenset({"devices", "gpus", "machines", "cpus", "power_limit_w", "attention"})
TF32_NEEDS_GPU = message("engine.tf32_needs_gpu")


class EngineInfo:
    """The description of an engine that runs Keras networks. The module with the same name runs them."""

    name: str  # name used in specs and results, and of the module and the folder of packages
    title: str  # official name
    backend: str  # name of the Keras backend
    # Package whose presence shows that the engine is included in Epochmark; None if it never is.
    included_as: str | None = None
    vendors: frozenset[str] = frozenset()  # vendors of supported GPUs, given the right system and driver
    reads: tuple[str, ...] = ()  # prefixes of the names of environment variables that affect the engine
    settings: frozenset[str] = frozenset()  # engine-specific run settings that the engine supports
    # Range of supported NVIDIA compute capabilities, excluding the upper bound; None if the range depends on the
    # installed build.
    capabilities: tuple[float, float] | None = None
    compiler: str = "XLA"  # name of the compiler used for steps if compilation is requested
    compiles_always: bool = False  # whether steps are always compiled
    has_process_per_device: bool = False  # whether training on several devices requires a process for each device
    has_equal_parts: bool = True  # whether all devices need equal-sized parts of each batch
    fixed_variables: Mapping[str, str] = {}  # environment variables that only this engine needs

    def variables(self) -> dict[str, str]:
        """Return the environment variables to set in every process that uses this engine."""
        # The order is NVML's, so that gpu:1 always means the same GPU.
        return {"KERAS_BACKEND": self.backend, "CUDA_DEVICE_ORDER": "PCI_BUS_ID", **self.fixed_variables}

    def run_variables(self, spec: RunSpec) -> dict[str, str]:
        """Return the environment variables to set for a run."""
        ours = self.variables()
        if spec.device == "cpu":
            ours["CUDA_VISIBLE_DEVICES"] = "-1"
        if spec.threads is not None:
            ours["OMP_NUM_THREADS"] = str(spec.threads)
        return ours

    def may_use(self, vendor: str, os_name: str) -> bool:
        """Return whether the engine can use a vendor's GPUs ("nvidia", "amd", etc.) on an operating system."""
        return vendor in self.vendors and not os_name.startswith(("Windows", "macOS"))

    def refusal(self, spec: RunSpec) -> Message | None:
        """Explain that the engine doesn't support one of a run's settings; None if it supports them all."""
        for name in (*["jit"] * spec.jit, *["onednn"] * (spec.onednn is not None), *spec.settings):
            if name not in self.settings | OF_ALL_ENGINES:
                return message("engine.without_setting", engine=self.title, setting=name)
        if spec.jit and not self.compiles_always and spec.device_count > 1:
            return message("engine.devices_not_compiled", engine=self.title, compiler=self.compiler)
        return TF32_NEEDS_GPU if "tf32" in spec.settings and spec.device == "cpu" else None

    def fused_refusal(self, spec: RunSpec, *, drops: bool) -> Message | None:
        """Explain why the engine has no fused attention for this spec; None if it has.

        Args:
            spec: Spec of a run.
            drops: Whether weights of attention are dropped during training.
        """
        return message("engine.no_fused_attention", engine=self.title)

    def gpu_need(self, spec: RunSpec) -> Message | None:
        """Explain why a network with this spec requires a GPU; None if it doesn't."""
        return None


class _TensorFlow(EngineInfo):
    name = "tensorflow"
    title = "TensorFlow"
    backend = "tensorflow"
    included_as = "tensorflow"
    vendors = frozenset({"nvidia"})
    reads = ("TF_", "XLA_")
    settings = frozenset({"jit", "onednn", "tf32"})
    capabilities = (6.0, 10.0)  # range of version 2.21, which doesn't support the RTX 50 series
    has_equal_parts = False
    fixed_variables: Mapping[str, str] = {"TF_CPP_MIN_LOG_LEVEL": "1", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}

    def run_variables(self, spec: RunSpec) -> dict[str, str]:
        ours = super().run_variables(spec)
        if spec.onednn is not None:
            ours["TF_ENABLE_ONEDNN_OPTS"] = "1" if spec.onednn else "0"
        if spec.threads is not None:
            ours["TF_NUM_INTRAOP_THREADS"] = str(spec.threads)
        return ours


class _Torch(EngineInfo):
    name = "torch"
    title = "PyTorch"
    backend = "torch"
    vendors = frozenset({"nvidia", "amd", "intel", "apple"})
    reads = ("TORCH_", "TORCHINDUCTOR_", "PYTORCH_", "HSA_", "HIP_", "ROCR_", "MIOPEN_", "ZE_", "ONEAPI_")
    settings = frozenset({"jit", "onednn", "tf32"})
    compiler = "torch.compile"
    has_process_per_device = True
    fixed_variables: Mapping[str, str] = {
        "PYTORCH_ENABLE_MPS_FALLBACK": "0"  # operations must not silently fall back to the CPU
    }

    def run_variables(self, spec: RunSpec) -> dict[str, str]:
        ours = {"HIP_VISIBLE_DEVICES": "-1", "KERAS_TORCH_DEVICE": "cpu"} if spec.device == "cpu" else {}
        return super().run_variables(spec) | ours

    def may_use(self, vendor: str, os_name: str) -> bool:
        """Return whether PyTorch can use a vendor's GPUs: on macOS only Apple's, elsewhere all except Apple's."""
        return vendor in self.vendors and (vendor == "apple") == os_name.startswith("macOS")

    def refusal(self, spec: RunSpec) -> Message | None:
        """Reject compiled steps as well if there is no C++ compiler. On Windows, `start` checks this for GPUs."""
        is_checked = spec.jit and (sys.platform != "win32" or spec.device == "cpu")
        return (self.compiler_problem() if is_checked else None) or super().refusal(spec)

    def gpu_need(self, spec: RunSpec) -> Message | None:
        """Require a GPU for float16, because Keras makes PyTorch compute float16 products in float32 on a CPU."""
        if spec.precision == "mixed_float16":
            return message("engine.float16_needs_gpu", engine=self.title)
        return None

    def fused_refusal(self, spec: RunSpec, *, drops: bool) -> Message | None:
        """Refuse dropout on a CPU, where PyTorch would compute attention step by step."""
        return message("engine.no_fused_dropout", engine=self.title) if drops and spec.device == "cpu" else None

    def compiler_problem(self) -> Message | None:
        """Return a message if there is no C++ compiler; None if there is one."""
        if any(map(shutil.which, _COMPILERS)):
            return None
        return message("engine.no_compiler", engine=self.title, compilers=list(_COMPILERS))


class _Jax(EngineInfo):
    name = "jax"
    title = "JAX"
    backend = "jax"
    vendors = frozenset({"nvidia"})
    reads = ("JAX_", "XLA_", "NPROC")
    settings = frozenset({"jit", "tf32"})
    compiles_always = True
    fixed_variables: Mapping[str, str] = {
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false"  # otherwise it preallocates three quarters of GPU memory
    }

    def run_variables(self, spec: RunSpec) -> dict[str, str]:
        ours = super().run_variables(spec)
        if spec.device == "cpu":
            ours["JAX_PLATFORMS"] = "cpu"
        if spec.threads is not None:
            ours["NPROC"] = str(spec.threads)
        return ours

    def refusal(self, spec: RunSpec) -> Message | None:
        """Reject uncompiled steps as well, because they would take many times as long."""
        if not spec.jit:
            return message("engine.compiles_always", engine=self.title, compiler=self.compiler)
        return super().refusal(spec)

    def fused_refusal(self, spec: RunSpec, *, drops: bool) -> Message | None:
        """Require a GPU and 16 bits, for which cuDNN has a fused kernel, and no dropout."""
        if spec.device == "cpu" or spec.precision == "float32":
            return message("engine.fused_attention_needs_gpu", engine=self.title)
        return message("engine.no_fused_dropout", engine=self.title) if drops else None


TENSORFLOW, TORCH, JAX = _TensorFlow(), _Torch(), _Jax()
