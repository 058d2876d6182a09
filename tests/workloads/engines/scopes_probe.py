"""Computes in the scope of each of an engine's devices; prints a line of JSON.

It has the devices that computed, and their speeds in bfloat16.

python -m tests.workloads.engines.scopes_probe ENGINE
"""

import json
import sys

from workloads import CATALOGUE
from workloads.engines.cpp_runtime import find_cpp_runtime
from workloads.engines.registry import engine_named
from workloads.engines.setup import device_speeds

if __name__ == "__main__":
    find_cpp_runtime()
    engine = engine_named(sys.argv[1])
    spec = CATALOGUE["fcn_r"].default_spec(
        engine=engine.info.name, device="cpu", devices=3, precision="mixed_bfloat16"
    )
    engine.start(spec)
    import keras
    import numpy as np
    from keras import ops

    keras.mixed_precision.set_dtype_policy(spec.precision)

    devices = []
    for scope in engine.device_scopes():
        with scope:
            matrix = ops.convert_to_tensor(np.ones((2, 2), np.float32))
            devices.append(str(ops.matmul(matrix, matrix).device))
    sys.stdout.write(json.dumps({"devices": devices, "speeds": device_speeds(engine, spec)}) + "\n")
