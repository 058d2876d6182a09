"""Runs on several computers."""

SENTENCES: dict[str, str | tuple[str, str]] = {
    "computers.aborted": "Another computer no longer responds. See what is shown there.",
    "computers.cancelled": "The run was cancelled.",
    "computers.differs": "“{fact}” differs: {there} on rank 0, {here} on rank {rank}.",
    "computers.ended": "Rank {rank} ended the run: {reason}",
    "computers.failed": "The run failed.",
    "computers.follows": "This computer is rank {rank} of {count}. Rank 0 stores the result.",
    "computers.lost": "The connection to another computer ended ({reason}). See what is shown there.",
    "computers.no_address": "{launcher} doesn't provide rank 0's address. Set MASTER_ADDR on all computers.",
    "computers.no_launcher": "--distributed needs a launcher: torchrun, srun, mpirun, or RANK, WORLD_SIZE and MASTER_ADDR set on each computer.",
    "computers.no_tf_config": 'TensorFlow needs all computers\' addresses in TF_CONFIG, for example \'{{"cluster": {{"worker": ["10.0.0.1:29500", "10.0.0.2:29500"]}}}}\'. Or use PyTorch or JAX.',
    "computers.several_processes": "{launcher} started several processes here. Start one per computer, and choose GPUs with --devices.",
    "computers.unknown_address": "The address {address} can't be used ({reason}). Check MASTER_ADDR.",
    "computers.unreadable": "The variables set by {launcher} can't be used ({problem}).",
}
