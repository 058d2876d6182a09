"""Compares the shapes of `workloads.networks.lora` with the models that `transformers` builds from them.

    python -m tests.tools.qwen3

It installs `transformers` in a folder that is removed afterwards, and uses the PyTorch that the tests install. The
models have no values, so they need no memory. Prints the number of parameters of each, as counted and as declared.
"""

import os
import subprocess
import sys
import tempfile

from tests import real_engines
from tests.conftest import ROOT


def counted(size: str) -> int:
    """Return the number of parameters, each counted once."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    from workloads.networks.lora import SHAPES

    shape = SHAPES[size]
    config = Qwen3Config(
        vocab_size=shape.vocabulary,
        hidden_size=shape.width,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.blocks,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_heads,
        head_dim=shape.size,
        tie_word_embeddings=shape.is_tied,
    )
    with torch.device("meta"):
        model = Qwen3ForCausalLM(config)
    return sum(parameter.numel() for parameter in model.parameters())


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, "transformers"]
        subprocess.run(pip, check=True)
        packages = real_engines.installed() / "torch" / "packages"
        path = os.pathsep.join(map(str, (packages, folder, ROOT)))
        code = "import sys; from tests.tools import qwen3; qwen3.show()"
        subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": path})


def show() -> None:
    from workloads.networks.lora import SHAPES

    for size, shape in SHAPES.items():
        print(f"{size}: {counted(size):,} counted, {shape.frozen_count:,} declared")


if __name__ == "__main__":
    main()
