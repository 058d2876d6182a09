"""What the doctor makes of causes, symptoms and unused GPUs, in many wordings."""

from itertools import permutations

import pytest

from app.core.known_lines.logs import LogDiagnosis, diagnose_log, telling_lines
from tests.core.known_lines.test_corpus import INDEX, diagnosed

XID = "NVRM: Xid (PCI:0000:01:00): "
FOUND = "Found GPU0 NVIDIA GB300 which is of cuda capability 10.3.\nMinimum and Maximum cuda capability of this"


def first(log: str) -> str | None:
    """Return the row that a log is explained by; None if nothing is wrong in it."""
    found = diagnose_log(log)
    assert not found.unknown_lines, found.unknown_lines
    return next((finding.signal.id for finding in found.findings), None)


def codes(found: LogDiagnosis) -> list[str]:
    return [each.code for each in found.conclusion]


RELATIVES: list[tuple[str | None, str]] = [
    # Errors of PCI Express that were corrected, and words that only contain "bus error".
    (None, "WHEA-Logger: A corrected hardware error has occurred. Component: PCI Express Root Port"),
    (None, "pcieport 0000:00:01.0: AER: Multiple Corrected error message received from 0000:01:00.0"),
    (None, "nvidia 0000:01:00.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Transmitter ID)"),
    (None, "nvme 0000:03:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer"),
    ("bus_link_failed", "nvidia 0000:01:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Data Link Layer"),
    ("bus_link_failed", "WHEA-Logger: A fatal hardware error has occurred. Component: PCI Express Endpoint"),
    ("bus_error", "Fatal Python error: Bus error"),
    ("bus_error", "zsh: bus error  python3 train.py"),
    ("bus_error", "python3[812] Bus error: 10"),
    # Limits that have nothing to do with the GPU's memory.
    ("kernel_too_big", "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 98304"),
    (
        "kernel_too_big",
        "ptxas error   : Entry function 'gemm' uses too much shared data (0x18000 bytes, 0xc000 max)",
    ),
    ("kernel_too_big", "RuntimeError: CUDA error: too many resources requested for launch"),
    ("kernel_too_big", "RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem. Used 20.00M of 16.00M vmem."),
    (
        "message_too_large",
        "[StatusCode.RESOURCE_EXHAUSTED] Received message larger than max (33816626 vs. 4194304)",
    ),
    ("message_too_large", "details = 'Sent message larger than max (5000000 vs. 4194304)'"),
    ("resource_exhausted", "google.api_core.exceptions.ResourceExhausted: 429 Quota exceeded for metric"),
    ("resource_exhausted", "ERROR: RESOURCE_EXHAUSTED"),
    ("out_of_memory", "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes."),
    # Files that Windows blocks.
    (
        "file_blocked",
        "ImportError: DLL load failed while importing _C: An Application Control policy has blocked this file.",
    ),
    (
        "file_blocked",
        'OSError: [WinError 4551] Eine Richtlinie hat diese Datei blockiert. Error loading "c10.dll"',
    ),
    ("file_blocked", "OSError: [WinError 1260] This program is blocked by group policy."),
    ("file_blocked", "OSError: [WinError 225] the file contains a virus or potentially unwanted software"),
    # Installers that find no build.
    (
        "package_without_build",
        "Because all versions of torch have no wheels with a matching Python ABI tag (e.g., `cp314`)",
    ),
    (
        "package_without_build",
        "x No solution found when resolving dependencies:\n"
        "Because the current Python version (3.14.0) does not satisfy Python>=3.9,<3.14 and jaxlib depends",
    ),
    (
        "python_without_build",
        "package tensorflow-2.18.0-cpu requires python >=3.12,<3.13.0a0, but none can be installed",
    ),
    (
        "pip_conflict",
        "x No solution found when resolving dependencies:\n"
        "Because keras==2.15 depends on numpy<2 and thinc==9 depends on numpy>=2, we can conclude that",
    ),
    # A GPU's firmware, and what follows from its end.
    ("gsp_failed", f"{XID}119, pid=1, Timeout after 45s of waiting for RPC response from GSP0!"),
    ("gsp_failed", f"{XID}120, pid=1, GSP task timeout @ pc:0x4bd36c4, task: 1"),
    ("gsp_failed", "NVRM: kgspHealthCheck_TU102: GSP crash report: not healthy"),
    ("gpu_reset", f"{XID}8, pid=4242, name=python3, Channel 0000000b"),
    ("xid_other", f"{XID}154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"),
    # Libraries that are older than JAX's.
    (
        "cuda_mixed",
        "CUDA backend failed to initialize: Found CUDA version 12010, but JAX was built against version 12020",
    ),
    (
        "cuda_mixed",
        "Unable to initialize backend 'cuda': Found cuBLAS version 111103, but JAX was built against 120304",
    ),
    ("cuda_mixed", "RuntimeError: Backend 'cuda' failed to initialize: Outdated cuDNN installation found."),
    (
        "cudnn_too_old",
        "Unable to initialize backend 'cuda': Found cuDNN version 8600, but JAX was built against 8904",
    ),
    ("cuda_libraries", "CUDA backend failed to initialize: Unable to load CUDA. Is it installed?"),
    (
        "cuda_libraries",
        "CUDA backend failed to initialize: Unable to use CUDA because of the following issues:\n"
        "cuSPARSE library was not found.",
    ),
    ("no_cuda_device", "Unable to initialize backend 'cuda': FAILED_PRECONDITION: No visible GPU devices."),
    ("jax_backend_failed", "RuntimeError: Backend 'cuda' failed to initialize: INTERNAL: something new"),
    # AMD's driver.
    ("rocm_failed", "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, signaled seq=1"),
    ("rocm_failed", "amdgpu 0000:03:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:3)"),
    ("rocm_failed", "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!"),
    ("rocm_failed", "amdgpu 0000:03:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE"),
    # A virtual GPU.
    ("vgpu_licence", "        License Status                    : Unlicensed (Restricted)"),
    ("vgpu_licence", "nvidia-gridd: Failed to acquire license from license.example.org"),
    ("vgpu_licence", "NVIDIA vGPU: licence expired\nRuntimeError: CUDA error: operation not supported"),
    (
        "driver_lacks_gpu",
        "NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2b85) installed in this system is not supported by the",
    ),
    ("driver_lacks_gpu", "NVRM: GPU at 0000:65:00.0 is not supported by the NVIDIA 470.256.02 driver release."),
    ("legacy_driver", "NVRM:  supported through the NVIDIA 470.xx Legacy drivers. Please"),
    ("gpu_busy", "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable"),
    # GPUs for which there is no code, and a warning that is wrong.
    ("gpu_too_new", "UserWarning: Found GPU0 NVIDIA RTX which is of compute capability (CC) 12.0."),
    ("no_code_for_gpu", "UserWarning: Found GPU0 Orin which is of compute capability (CC) 8.7."),
    ("no_code_for_gpu", "Your installed torch==2.14.1+cu131 does not include kernels for this GPU."),
    (None, f"UserWarning: {FOUND} version of PyTorch is\n(8.0) - (10.0)"),
    ("gpu_too_new", f"UserWarning: {FOUND} version of PyTorch is\n(5.0) - (9.0)"),
    (
        None,
        "NVIDIA GB10 with CUDA capability sm_121 is not compatible with the current PyTorch installation.\n"
        "The current PyTorch install supports CUDA capabilities sm_80 sm_90 sm_100 sm_120.",
    ),
    # A full GPU.
    *[
        ("out_of_memory", line)
        for line in (
            "Error allocating 33554432 bytes of device memory (out of memory). Driver report 21364736 bytes free",
            "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory.",
            "RuntimeError: GPU memory allocation failed (might be due to insufficient memory)",
            "ERROR: Out of memory: failed to allocate 58080000 bytes on device 0",
            "alloc_buffer: allocating 4096.00 MiB on device 0: cudaMalloc failed: out of memory",
            "vk::Device::allocateMemory: ErrorOutOfDeviceMemory",
            "RuntimeError: cuFFT error: CUFFT_ALLOC_FAILED",
            "ValueError: No available memory for the cache blocks. Try increasing gpu_memory_utilization",
            "ValueError: Free memory on device cuda:0 (2/24 GiB) is less than desired GPU memory utilization",
            "onnxruntime: BFCArena Failed to allocate memory for requested buffer of size 1073741824",
            "pyopencl.MemoryError: CL_MEM_OBJECT_ALLOCATION_FAILURE",
            "Error: not enough VRAM",
            "hipMalloc failed: out of memory",
            "RuntimeError: Triton Error [CUDA]: out of memory",
            "Failed to allocate CUDA0 buffer of size 5000000000",
            "NvMapMemAllocInternalTagged: 1075072515 error 12",
            "Execution of the command buffer was aborted: Insufficient Memory (00000008:kIOGPUCommandBuffer",
        )
    ],
    # Programs that insist on a GPU.
    ("torch_cpu_build", "torch: 2.3.1+cpu\nAssertionError: Torch is not able to use GPU"),
    ("torch_cpu_build", "PyTorch version: 2.4.0+cpu\nRuntimeError: No CUDA GPUs are available"),
    (
        "jax_cpu_build",
        "Unable to initialize backend 'cuda': module 'jaxlib'\nRuntimeError: Unknown backend: 'gpu' requested",
    ),
    (
        "torch_on_cpu",
        "UserWarning: CUDA initialization: Found no NVIDIA driver on your system.\nRuntimeError: No GPU found",
    ),
    (
        "gpu_required",
        "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.",
    ),
    ("gpu_left_unused", "UserWarning: GPU available but not used. Set accelerator and devices"),
    # cuDNN and CUDA.
    ("cudnn_no_plan", "RuntimeError: FIND was unable to find an engine to execute this computation"),
    (
        "cudnn_no_plan",
        "[cudnn_frontend] Error: No valid execution plans built. No execution plans support the graph.",
    ),
    ("cudnn_no_plan", "RuntimeError: Unable to find a valid cuDNN algorithm to run convolution"),
    ("cuda_not_supported", "cudaErrorNotSupported: operation not supported"),
    ("cuda_not_supported", "failed call to cuMemAllocManaged: CUDA_ERROR_NOT_SUPPORTED: operation not supported"),
    (
        "avx_missing",
        "RuntimeError: This version of jaxlib was built using AVX instructions, which your CPU does not support.",
    ),
    # Threads and processes.
    ("threads_refused", "RuntimeError: can't start new thread"),
    ("threads_refused", "cgroup: fork rejected by pids controller in /docker/3f1c"),
    ("threads_refused", "bash: fork: retry: Resource temporarily unavailable"),
    ("threads_refused", "libgomp: Thread creation failed: Resource temporarily unavailable"),
    ("threads_refused", "OMP: Error #34: System unable to allocate necessary resources for OMP thread:"),
    ("threads_refused", "BlockingIOError: [Errno 11] Resource temporarily unavailable"),
    ("threads_refused", "OS can't spawn worker thread: Resource temporarily unavailable (os error 11)"),
    # Drivers of Intel and AMD GPUs that give up.
    ("gpu_not_started", "i915 0000:00:02.0: [drm] *ERROR* GT0: Failed to initialize GPU, declaring it wedged!"),
    ("gpu_not_started", "i915 0000:00:02.0: [drm] *ERROR* GT0: GuC initialization failed -ENXIO"),
    ("gpu_not_started", "amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init"),
    ("gpu_not_started", "amdgpu: probe of 0000:03:00.0 failed with error -22"),
    # Windows' events.
    ("gpu_reset", "Display driver amduw23g stopped responding and has successfully recovered."),
    ("gpu_reset", "The description for Event ID 4101 from source Display cannot be found."),
    ("gpu_reset", "Reset TDR occurred on GPUID:100"),
    ("gpu_reset", "Source: nvlddmkm, Event ID: 153"),
    ("launch_failed", "The description for Event ID 13 from source nvlddmkm cannot be found."),
    # Other resources of the system.
    ("shared_memory", "NCCL WARN Call to posix_fallocate failed : No space left on device"),
    ("shared_memory", "NCCL WARN Error: failed to extend /dev/shm/nccl-eBkTmT to 33030532 bytes"),
    ("shared_memory", "RuntimeError: unable to write to file </torch_2391_1203_0>: No space left on device (28)"),
    ("disk_full", "OSError: [Errno 28] No space left on device: '/data/model.ckpt'"),
    # Output of nvidia-smi.
    ("smi_error", "| ERR!   38C    P8             ERR! / 250W |      1MiB / 12288MiB |     ERR!      Default |"),
    (None, "        Remapping Failure Occurred        : No\n        HW Power Brake Slowdown : Not Active"),
    (None, "NVIDIA GB10, [Not Supported], 36"),
    # Words that only look like those of a fault.
    (None, "npm ERR! code E404"),
    (None, "Allocated memory on device 0: 3.2 GB"),
    (None, "flash-attn isn't installed, so performance will be degraded"),
    (None, f"{XID}154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"),
    (None, "|    0                    Not Supported                                       |"),
]


@pytest.mark.parametrize(("row", "log"), RELATIVES, ids=range(len(RELATIVES)))
def test_other_wordings_of_the_same_kind_are_understood(row: str | None, log: str) -> None:
    assert first(log) == row


CAUSES_AND_SYMPTOMS = [
    ("gsp_failed", "GSP RM heartbeat timed out", f"{XID}8, pid=1, Channel 0000000b"),
    ("gsp_failed", "GSP RM heartbeat timed out", f"{XID}109, pid=1, errorString CTX SWITCH TIMEOUT"),
    ("gpu_lost", f"{XID}79, GPU has fallen off the bus.", f"{XID}154, recovery action changed to 0x1 (GPU Reset)"),
    ("file_blocked", "An Application Control policy has blocked this file.", "ImportError: DLL load failed"),
    ("paging_file", "The paging file is too small", "ImportError: DLL load failed while importing _C"),
    ("kernel_too_big", "Shared memory size limit exceeded", "XlaRuntimeError: RESOURCE_EXHAUSTED"),
    ("message_too_large", "Received message larger than max (9 vs. 4)", "StatusCode.RESOURCE_EXHAUSTED"),
    ("oom_killer", "Out of memory: Killed process 25315 (python3)", "Process finished with exit code 137"),
    ("shared_memory", "NCCL WARN Error while creating shared memory segment", "Bus error (core dumped)"),
    ("disk_full", "OSError: [Errno 28] No space left on device", "exited with status 135 SIGBUS"),
    ("disk_full", "OSError: [Errno 28] No space left on device", "OSError: [Errno 5] Input/output error"),
    ("numpy_mismatch", "_ARRAY_API not found", "Segmentation fault (core dumped)"),
    (
        "wrong_architecture",
        "incompatible architecture (have 'x86_64', need 'arm64')",
        "zsh: illegal hardware instruction",
    ),
    (
        "python_without_build",
        "we only found wheels for `tensorflow` (v2.21.0)",
        "No solution found when resolving",
    ),
    ("hidden", "CUDA_VISIBLE_DEVICES=-1", "RuntimeError: No CUDA GPUs are available"),
    (
        "secure_boot",
        "modprobe: Key was rejected by service",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver",
    ),
    (
        "driver_lacks_gpu",
        "NVRM: installed in this system is not supported by the",
        "insmod: could not insert module nvidia.ko",
    ),
    (
        "driver_build_failed",
        "Bad return status for module build",
        "Failed: could not insert 'nvidia': No such device",
    ),
    (
        "cuda_mixed",
        "Found cuSOLVER version 11002, but JAX was built",
        "Jax plugin configuration error: Exception when calling jax_plugins.xla",
    ),
    ("out_of_memory", "CUDA out of memory", "RuntimeError: Connection reset by peer"),
    ("out_of_memory", "CUDA out of memory", "ncclSystemError: System call failed"),
    ("out_of_memory", "CUDA out of memory", "RuntimeError: GET was unable to find an engine to execute"),
    ("out_of_memory", "CUDA out of memory", "RuntimeError: CUDA error: an illegal memory access was encountered"),
    ("ecc_error", "uncorrectable ECC error encountered", "CUDA error: unspecified launch failure"),
    ("bus_link_failed", "PCIe Bus Error: severity=Uncorrected (Fatal)", "CUDA error: unspecified launch failure"),
    (
        "cudnn_dropped_gpu",
        "CUDNN_STATUS_ARCH_MISMATCH",
        "Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED",
    ),
    ("threads_refused", "OpenBLAS blas_thread_init: pthread_create failed", "Segmentation fault (core dumped)"),
    ("vgpu_licence", "Valid GRID license not found", "all CUDA-capable devices are busy or unavailable"),
    ("torch_cpu_build", "Python-3.11.9 torch-2.6.0+cpu", "ValueError: Invalid CUDA 'device=0' requested"),
    ("torch_on_cpu", "Warning: Found no NVIDIA driver on your system", "RuntimeError: No CUDA GPUs are available"),
    ("time_limit", "CANCELLED AT 2026-01-01 DUE TO TIME LIMIT", "Terminated"),
]


@pytest.mark.parametrize(("row", "cause", "symptom"), CAUSES_AND_SYMPTOMS)
def test_a_cause_outranks_a_symptom_in_both_orders(row: str, cause: str, symptom: str) -> None:
    alone = diagnose_log(symptom).findings
    assert [finding.signal.id for finding in alone] != [row] or alone[0].is_symptom
    for lines in permutations((cause, symptom)):
        found = diagnose_log("\n".join(lines)).findings
        assert (found[0].signal.id, found[0].signal.severity, found[0].is_symptom) == (row, "fault", False)
        assert [finding.may_follow for finding in found] == [finding.is_symptom for finding in found]


@pytest.mark.parametrize(
    "line",
    [
        *("RESOURCE_EXHAUSTED", "Bus error (core dumped)", "ImportError: DLL load failed while importing _C"),
        *(f"{XID}8, pid=1", f"{XID}109, pid=1", "killed by signal SIGBUS", "exit code 137", "exit code: 139"),
        *("Segmentation fault", "CUDA error: operation not supported", "CUDA error: unknown error"),
    ],
)
def test_a_status_alone_is_no_cause(line: str) -> None:
    found = diagnose_log(line)
    assert found.findings[0].is_symptom
    assert codes(found) == ["doctor.log_fault", "doctor.log_no_cause"]


def test_a_usual_cause_that_the_log_does_not_name_is_called_usual() -> None:
    assert codes(diagnose_log("Illegal instruction (core dumped)")) == [
        "doctor.log_fault",
        "doctor.log_usual_cause",
    ]


WHY_UNUSED: list[tuple[str, str, str]] = [
    (
        "jax_cpu_build",
        "doctor.log_reason",
        "Unable to initialize backend 'cuda': module 'jaxlib.xla_extension' has no attribute",
    ),
    (
        "jax_backend_failed",
        "doctor.log_reason",
        "CUDA backend failed to initialize: INTERNAL: something new (Set TF_CPP_MIN",
    ),
    ("on_cpu", "doctor.log_no_cause", "No GPU/TPU found, falling back to CPU."),
    ("on_cpu", "doctor.log_no_cause", "jax.devices()\n[CpuDevice(id=0)]"),
    ("torch_cpu_build", "doctor.log_reason", "YOLOv5 v7.0 Python-3.10 torch-2.1.0+cpu CPU"),
    ("torch_cpu_build", "doctor.log_reason", "PyTorch version: 2.4.0+cpu\nIs CUDA available: False"),
    (
        "torch_on_cpu",
        "doctor.log_reason",
        "UserWarning: CUDA initialization: Found no NVIDIA driver on your system.",
    ),
    ("on_cpu", "doctor.log_no_cause", "torch.cuda.is_available(): False"),
    ("on_cpu", "doctor.log_no_cause", "Using device: cpu\nepoch 1 loss 0.4"),
    ("on_cpu", "doctor.log_no_cause", "GPU available: False, used: False"),
    ("on_cpu", "doctor.log_no_cause", "Num GPUs Available:  0"),
    ("no_cuda_driver", "doctor.log_reason", "Could not find cuda drivers on your machine, GPU will not be used."),
]


@pytest.mark.parametrize(("row", "ending", "log"), WHY_UNUSED)
def test_an_unused_gpu_ends_with_the_reason_or_without_one(row: str, ending: str, log: str) -> None:
    found = diagnose_log(log)
    assert found.findings == ()
    assert next(one.signal.id for one in found.harmless if one.signal.gpu == "unused") == row
    assert codes(found) == ["doctor.log_fault", ending]


@pytest.mark.parametrize(
    "used",
    [
        *("GPU available: True (cuda), used: True", "Using device: cuda:0", "[CudaDevice(id=0)]", "device: cuda"),
        *(
            "Created device /job:localhost/task:0/device:GPU:0 with 6000 MB memory",
            "torch.cuda.is_available(): True",
        ),
    ],
)
def test_a_gpu_that_is_used_needs_no_reason(used: str) -> None:
    assert codes(diagnose_log(f"Unable to initialize backend 'tpu': INTERNAL\n{used}")) == ["doctor.log_harmless"]
    survived = diagnose_log(f"CUDA_ERROR_NO_DEVICE: no CUDA-capable device\n{used}\nEpoch 2/3 loss: 0.4")
    assert codes(survived) == ["doctor.log_survived"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected", "doctor.log_went_on"),
        ("Could not load dynamic library 'libcudnn.so.8'", "doctor.log_went_on"),
        (
            "failed to allocate 15.74GiB (16901668864 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY",
            "doctor.log_survived",
        ),
        ("CUDA error: an illegal memory access was encountered", "doctor.log_survived"),
        ("OSError: [Errno 28] No space left on device", "doctor.log_survived"),
    ],
)
def test_only_what_keeps_a_gpu_from_use_may_be_why_it_was_not_used(line: str, code: str) -> None:
    assert codes(diagnose_log(f"{line}\nEpoch 2/3 loss: 0.4")) == [code]


def test_an_error_that_is_unknown_comes_before_the_reason_for_an_unused_gpu() -> None:
    found = diagnose_log("Could not find cuda drivers on your machine\nERROR: the frobnicator failed")
    assert codes(found) == ["doctor.log_unknown", "doctor.log_ask_maker", "doctor.log_fault", "doctor.log_reason"]


def test_the_reasons_in_recorded_logs() -> None:
    shown = {entry["file"]: [each.code for each in diagnosed(entry["file"]).conclusion] for entry in INDEX}
    unused = {file for file, said in shown.items() if said == ["doctor.log_fault", "doctor.log_reason"]}
    assert {"healthy_jax_no_gpu_found.log", "healthy_torch_cpu.log", "healthy_cpu_2_21.log"} <= unused


NO_DRIVER = "E0000 00:00:1 cuda_platform.cc:51] failed call to cuInit: INTERNAL: CUDA error: UNKNOWN ERROR (303)"
FATAL = "F0000 00:00:1 env.cc:382] Check failed: Thread tf_Compute creation via pthread_create() failed."
STACK = ["Fatal Python error: Aborted", "Thread 0x1 (most recent call first):", '  File "a.py", line 1 in start']


@pytest.mark.parametrize(
    ("lines", "telling"),
    [
        # A harmless line is no reason for a crash, even if it is the only one.
        ([NO_DRIVER], []),
        ([NO_DRIVER, "terminate called", "I0000 00:00:2 cuda"], ["terminate called"]),
        ([f"line {number}" for number in range(9)], [f"line {number}" for number in range(4, 9)]),
        ([NO_DRIVER, *STACK, NO_DRIVER], STACK),
        # What the table knows as a cause says more than a crash report.
        ([NO_DRIVER, FATAL, *STACK, "Extension modules: numpy._core._multiarray_umath"], [FATAL]),
        (["CUDA out of memory", *STACK], ["CUDA out of memory"]),
    ],
)
def test_the_lines_that_tell_why_a_process_crashed(lines: list[str], telling: list[str]) -> None:
    assert telling_lines(lines) == telling
