"""Workers and workloads: what can't be run, what went wrong, facts about a run."""

SENTENCES: dict[str, str | tuple[str, str]] = {
    "data.none_real": (
        "{workload} has no real data: like its study, it trains on generated examples. Choose --data synthetic."
    ),
    "data.not_installed": (
        "The real {dataset} data isn't installed. Get it with `{epochmark} {command}`, or train on synthetic data with"
        " --data synthetic."
    ),
    "data.unusable": "The data can't be used: {reason}. Remove it with `{epochmark} data remove {dataset}`, then use `{epochmark} {command}`.",
    "engine.broken": "The engine {engine} can't be imported ({reason}). Choose another one.",
    "engine.compiles_always": "{engine} compiles every step with {compiler}: leave that on.",
    "engine.float16_needs_gpu": (
        "Without a GPU, {engine} and Keras compute mixed_float16 in float32: choose mixed_bfloat16, or a GPU."
    ),
    "engine.cpus_not_limited": "The run can't be kept to {cpus} CPUs: this process may not use as many.",
    "engine.fused_needs_gpu": "Without a GPU, {engine} computes an LSTM step by step: choose non-fused, or a GPU.",
    "engine.not_fused_and_compiled": "{engine} can't compile a fused LSTM: turn one of the two off.",
    "engine.gone": "{engine} was removed, or its drive is gone, while the run needed it. Install it again, or choose another engine.",
    "engine.no_compiler": "To compile steps, {engine} needs a C++ compiler, and there's none on this computer ({compilers:, }).",
    "engine.not_for_workload": "{workload} can't run on {engine}. Choose {engines:, }.",
    "engine.not_installed": "{engine} isn't installed on this computer.",
    "engine.not_imported": "{engine} and Keras can't be imported ({reason}).",
    "engine.other_backend": "Keras started with {backend} instead of {engine}.",
    "engine.sees_no_gpu": "{engine} can't use {device}: it sees no GPU on this computer.",
    "engine.sees_other_devices": "{engine} can't use {device}: it sees only {seen:, } on this computer.",
    "engine.tf32_needs_gpu": "TF32 is for NVIDIA GPUs, and this run uses none. Leave it as it is.",
    "engine.unknown": "There's no engine {engine}. Choose {engines:, }.",
    "engine.without_setting": "{engine} has no setting {setting}. Leave it as it is.",
    "folder.missing": "There's no folder {folder}. Create it, or choose another one.",
    "folder.not_absolute": "The folder {folder} isn't an absolute path. Enter the full path.",
    "folder.not_writable": "The folder {folder} can't be written to. Choose another one.",
    "folder.too_many": "At most {limit} folders can be measured, not {given}. Leave some out.",
    "folder.twice": "{first} and {second} are the same folder. Leave one of them out.",
    "folder.unreadable": "The folder {folder} can't be read ({reason}). Choose another one.",
    "generation.no_real_data": "{workload} reads random tokens. Leave out --data real.",
    "generation.too_many_steps": "There's room for {steps} tokens after the prompt, so a round can't have {asked:,} steps.",
    "inference.no_real_data": "{workload} predicts on generated images. Leave out --data real.",
    "limits.no_data": "{workload} needs no data. Leave out --data real.",
    "limits.no_gpu": "{engine} can't use a GPU here, so there's no transfer to measure.",
    "limits.without_setting": "{workload} has no {setting}. Leave it as it is ({usual}).",
    "parameter.in_unit": " ({unit})",
    "parameter.maximum": " of at most {maximum:g}",
    "parameter.minimum": " of at least {minimum:g}",
    "parameter.not_bool": "{name} must be on or off, not {value}.",
    "parameter.not_choice": "{name} must be one of {choices:, }, not {value}.",
    "parameter.not_float": "{name} must be a number{limits}{unit}, not {value}.",
    "parameter.not_folders": "{name} must be folders separated by {separator}, not {value}.",
    "parameter.not_int": "{name} must be a whole number{limits}{unit}, not {value}.",
    "parameter.range": " from {minimum:g} to {maximum:g}",
    "setting.not_choice": "{name} must be one of {choices:, }, not {value}.",
    "setting.out_of_range": "A value is out of range: {problem}.",
    "setting.not_in_range": "{name} must be from {minimum:,} to {maximum:,}, not {value}.",
    "setting.unknown": "There's no run setting {name}.",
    "storage.files_gone": "The test's files in {folder} disappeared during the measurement ({reason}). Run it again.",
    "storage.folder_failed": "The folder {folder} failed during the measurement ({reason}). Check its drive.",
    "storage.folder_gone": (
        "The folder {folder} disappeared during the measurement ({reason}). Bring it back, or choose another one."
    ),
    "storage.no_room": (
        "The folder {folder} has {free_bytes:file_size} free, and {images:,} images need {need_bytes:file_size}."
        " Choose fewer images or another folder."
    ),
    "storage.too_few_images": (
        "A batch of {batch_size} is larger than the {images} images. Choose a smaller batch or more images."
    ),
    "training.diverged": "Training diverged: the loss is {loss} at step {step}.",
    "training.other_parameters": "The network has {done:,} parameters instead of {asked:,}.",
    "training.other_steps": "The run trained {done:,} steps instead of {asked:,}.",
    "warning.data_incomplete": (
        "The installed {dataset} data is incomplete, so synthetic data is used. `{epochmark} {command}` repairs it."
    ),
    "warning.leftovers": (
        "The test's files can't be removed ({reason}). Delete {folder}, or let the next test in the same place do it."
    ),
    "warning.loss_out_of_band": (
        "The loss of the first epoch, {loss:.4g}, is outside the expected range ({low:g}–{high:g}):"
        " the network may not have trained correctly."
    ),
    "warning.page_cache_kept": (
        "The files in folder {folders} were probably read from memory: this system doesn't drop them when asked.",
        "The files in folders {folders:, } were probably read from memory: this system doesn't drop them when asked.",
    ),
    "warning.page_cache_unknown": (
        "The files in folder {folders} may have been read from memory: the system doesn't say whether it dropped"
        " them.",
        "The files in folders {folders:, } may have been read from memory: the system doesn't say whether it dropped"
        " them.",
    ),
    "worker.fault": "{kind}: {text}",
    "worker.out_of_memory": "Out of memory, on the computer or the device. Try a smaller batch.",
    "worker.unreadable_job": "The job can't be read ({reason}).",
    "workload.batch_too_large": (
        "A batch of {batch_size:,} is larger than the {samples:,} training examples of {workload}."
        " Choose a smaller one (the study used {usual})."
    ),
    "workload.needs_folder": (
        "{workload} needs at least one folder. Choose it under More settings, or on the command line with"
        " --set {parameter}=/path/to/folder."
    ),
    "workload.no_parameters": "{workload} has no parameter {name}; it has none.",
    "workload.not_sustained": "{workload} has a fixed duration, so it can't be sustained. Use --preset standard.",
    "workload.number_too_small": "{setting} must be at least {minimum}, not {value}.",
    "workload.other_parameters": "{workload} has no parameter {name}; it has: {known:, }.",
    "workload.quick_is_one_epoch": (
        "The quick preset estimates one epoch and takes neither epochs nor steps. Use --preset standard."
    ),
    "workload.heads_uneven": (
        "A width of {width} can't be shared among {heads} heads. Choose a width that is a multiple of the heads."
    ),
    "workload.streams_too_short": "A batch of {batch_size} cuts the text into streams of fewer than {words} words.",
    "workload.sustained_is_by_time": (
        "The sustained preset trains for a set time and takes neither epochs nor steps. Use --preset standard."
    ),
    "workload.too_many_steps": (
        "An epoch of {workload} has {steps:,} steps at batch {batch_size}, so it can't be cut to {asked:,}."
    ),
    "workload.unknown": "There's no workload “{workload}”.",
}
