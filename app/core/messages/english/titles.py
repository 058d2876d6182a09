"""Titles of workloads, and what they are; names of settings and numbers."""

SENTENCES: dict[str, str | tuple[str, str]] = {
    "title.cifar10_keras_cnn": "CIFAR-10 CNN",
    "title.mnist_mlp": "MNIST MLP",
    "title.mnist_cnn": "MNIST CNN",
    "title.mnist_cnn_nodropout_adam": "MNIST CNN, Adam",
    "title.cifar10_cnn": "CIFAR-10 CNN, augmented",
    "title.imdb_fasttext": "IMDb fastText, word pairs",
    "title.imdb_fasttext_unigram": "IMDb fastText, words",
    "title.imdb_bidirectional_lstm": "IMDb bidirectional LSTM",
    "title.lstm_text_generation": "Nietzsche LSTM",
    "title.text_generator_keras": "Text generator",
    "title.fcn_s": "FCN-S",
    "title.fcn_r": "FCN-R",
    "title.alexnet_s": "AlexNet-S",
    "title.alexnet_r": "AlexNet-R",
    "title.resnet_50_s": "ResNet-50, synthetic",
    "title.resnet_56": "ResNet-56",
    "title.lstm_ptb_32": "PTB LSTM, 32 words",
    "title.lstm_ptb_64": "PTB LSTM, 64 words",
    "title.alexnet_caffe": "AlexNet",
    "title.googlenet": "GoogLeNet",
    "title.resnet_50": "ResNet-50",
    "title.vgg16": "VGG-16",
    "title.inception_v3": "Inception-v3",
    "title.ptb_lstm_mxnet": "PTB LSTM, sentences",
    "title.flowers_xception_331": "Flowers, Xception",
    "title.flowers_resnet50_331": "Flowers, ResNet-50",
    "title.flowers_vgg16_331": "Flowers, VGG-16",
    "title.fashion_mnist_cnn_412k": "Fashion-MNIST CNN",
    "title.gpt_mini": "GPT mini",
    "title.gpt_tiny": "GPT tiny",
    "title.gpt_small": "GPT small",
    "title.nanogpt_char": "nanoGPT, characters",
    "title.vit_tiny_224": "ViT-Tiny",
    "title.resnet50_224": "ResNet-50 v1.5",
    "title.convnext_tiny_224": "ConvNeXt-Tiny",
    "title.efficientnet_b0_224": "EfficientNet-B0",
    "title.mobilenetv3_large_224": "MobileNetV3-Large",
    "title.fc_parametric": "Dense layers, parametric",
    "title.cnn_parametric": "Residual blocks, parametric",
    "title.rnn_parametric": "LSTM layers, parametric",
    "title.gpt_small_generation": "GPT small, generation",
    "title.matmul": "Matrix products",
    "title.memory_bandwidth": "Memory bandwidth",
    "title.host_to_device": "Host-to-GPU transfer",
    "title.storage": "Storage and preprocessing",
    "title.demo": "Demo (no training)",
    "summary.cifar10_keras_cnn": (
        "The standard Keras network for small images: six convolutions, 1,337,002 parameters. 50,000 images "
        "of 32 × 32 pixels per epoch, and 1,000 for validation."
    ),
    "summary.mnist_mlp": (
        "Two dense layers of 512 units that read handwritten digits: 669,706 parameters. Its steps are short, "
        "so the overhead around them shows."
    ),
    "summary.mnist_cnn": "A small convolutional network that reads handwritten digits: 1,199,882 parameters.",
    "summary.mnist_cnn_nodropout_adam": (
        "The MNIST CNN without dropout, fed by tf.data: 1,199,882 parameters. Close to what Mac users timed; "
        "its exact layers are unknown."
    ),
    "summary.cifar10_cnn": (
        "Four convolutions, 1,250,858 parameters; the CPU shifts and flips each image during training."
    ),
    "summary.imdb_fasttext": (
        "Rates film reviews by their words and word pairs: a table of tens of millions of parameters, all of "
        "which change in every step."
    ),
    "summary.imdb_fasttext_unigram": "Rates film reviews by the mean of their word vectors: 1,000,051 parameters.",
    "summary.imdb_bidirectional_lstm": "Reads film reviews word by word from both ends: 2,658,945 parameters.",
    "summary.lstm_text_generation": "Predicts the next character of a book from 40: one LSTM, 102,585 parameters.",
    "summary.text_generator_keras": (
        "Predicts the next character of a book with one LSTM and two heads: 458,430 parameters."
    ),
    "summary.fcn_s": (
        "Dense layers of 2,048 between 26,752 inputs and as many outputs: 117,997,696 parameters. Measures "
        "large matrix products."
    ),
    "summary.fcn_r": "Three large dense layers that read handwritten digits: 14,205,962 parameters.",
    "summary.alexnet_s": "AlexNet in its simplest form on generated images of 224 × 224: 62,378,344 parameters.",
    "summary.alexnet_r": "Three convolutions on small images in large batches: 85,098 parameters.",
    "summary.resnet_50_s": "50 layers with shortcuts on generated images of 224 × 224: 25.6 million parameters.",
    "summary.resnet_56": (
        "56 thin layers with shortcuts on small images: 853,018 trained parameters. Many small operations."
    ),
    "summary.lstm_ptb_32": (
        "Two LSTMs of 256 units that predict the next word, 32 words per step: 6,180,624 parameters."
    ),
    "summary.lstm_ptb_64": (
        "Two LSTMs of 256 units that predict the next word, 64 words per step: 6,180,624 parameters."
    ),
    "summary.alexnet_caffe": (
        "AlexNet with its two groups on generated images of 227 × 227: 60,965,224 parameters."
    ),
    "summary.googlenet": (
        "Nine Inception modules on generated images of 224 × 224: 13,378,280 parameters, 6,998,552 without "
        "the two heads that only training needs."
    ),
    "summary.resnet_50": "50 layers with shortcuts on generated images of 224 × 224: 25.6 million parameters.",
    "summary.vgg16": "13 wide convolutions on generated images of 224 × 224: 138,357,544 parameters.",
    "summary.inception_v3": (
        "Many narrow convolutions side by side on generated images of 299 × 299: 23,851,784 parameters."
    ),
    "summary.ptb_lstm_mxnet": (
        "Two LSTMs of 200 units that predict the next word in whole sentences: 4,651,600 parameters."
    ),
    "summary.flowers_xception_331": (
        "Xception with random weights on flower photos of 331 × 331: 20,871,725 parameters."
    ),
    "summary.flowers_resnet50_331": (
        "ResNet-50 with random weights on flower photos of 331 × 331: 23,597,957 parameters."
    ),
    "summary.flowers_vgg16_331": (
        "VGG-16 with random weights on flower photos of 331 × 331: 14,717,253 parameters."
    ),
    "summary.fashion_mnist_cnn_412k": "A small convolutional network that classifies clothes: 412,778 parameters.",
    "summary.gpt_mini": "Four transformer blocks that predict the next token of 512: 27,549,696 parameters.",
    "summary.gpt_tiny": "Four wider transformer blocks that predict the next token of 512: 53,912,064 parameters.",
    "summary.gpt_small": "Twelve transformer blocks, as many as GPT-2's smallest: 110,615,040 parameters.",
    "summary.nanogpt_char": (
        "Six transformer blocks that learn to write from a book: 10,742,016 parameters. Blocks 4, heads 4, "
        "width 128, sequence 64, batch 12 suit a laptop."
    ),
    "summary.vit_tiny_224": (
        "Twelve transformer blocks over 196 patches of 224 × 224 pixels: 5,717,416 parameters."
    ),
    "summary.resnet50_224": (
        "50 layers with shortcuts, as usual today, on images of 224 × 224: 25,557,032 trained parameters."
    ),
    "summary.convnext_tiny_224": (
        "Wide depthwise convolutions between dense layers on images of 224 × 224: 28,589,128 parameters."
    ),
    "summary.efficientnet_b0_224": (
        "Thin depthwise convolutions with gates on images of 224 × 224: 5,288,548 trained parameters."
    ),
    "summary.mobilenetv3_large_224": (
        "Thin blocks made for telephones on images of 224 × 224: 5,483,032 trained parameters."
    ),
    "summary.fc_parametric": (
        "As many dense layers as you like, as wide as you like, for studies of what a computer is good at."
    ),
    "summary.cnn_parametric": (
        "Three stages of residual blocks on images of 64 × 64, as deep and as wide as you like."
    ),
    "summary.rnn_parametric": (
        "As many LSTM layers as you like, as wide as you like, over sequences of any length."
    ),
    "summary.gpt_small_generation": (
        "Reads a prompt of 128 tokens and writes 128, one after the other: 110,615,040 parameters. Batch 1 is "
        "a chat; 8 is a small server."
    ),
    "summary.matmul": (
        "How many operations per second this computer reaches when it multiplies large matrices. Networks are "
        "shown as a share of this peak."
    ),
    "summary.memory_bandwidth": (
        "How many bytes per second the device reads and writes in its own memory. It adds one large array to "
        "another: two are read, one is written."
    ),
    "summary.host_to_device": (
        "How many bytes per second move from the computer's memory to the GPU, and back. Needs a GPU that the "
        "engine can use."
    ),
    "summary.storage": (
        "Writes, preprocesses, reads, trains on and predicts from JPEGs in each of your folders, and shows how "
        "much the drive matters."
    ),
    "summary.demo": "Waits instead of training, to show how a run looks and how it can end.",
    "title.inference": "{training}, inference",
    "summary.inference": (
        "The network of {training} predicts generated images. Measures the throughput of large batches and the "
        "latency of 1 and 16 images."
    ),
    "epoch_text.augmented_images": "{training:,} augmented training images, then {validation:,} for validation",
    "epoch_text.augmented_photos": "{training:,} augmented photos, then {validation:,} for validation",
    "epoch_text.cases": "{cases} tests in each folder, a few seconds each",
    "epoch_text.cut": "{images:,} images; a round is cut to {batches} batches",
    "epoch_text.images": "{training:,} training images, then {validation:,} for validation",
    "epoch_text.images_alone": "{training:,} training images",
    "epoch_text.pieces": "{pieces:,} sequences of {characters} characters",
    "epoch_text.predictions": "{batches} predictions of a batch; the first round is a warm-up",
    "epoch_text.products": "five products, each repeated for a few seconds",
    "epoch_text.reviews": "{training:,} training reviews, then {validation:,} for validation",
    "epoch_text.rounds": "no epoch: rounds of {batches} batches",
    "epoch_text.sentences": "{sentences:,} sentences with {words:,} words",
    "epoch_text.streams": "{words:,} words in {streams} streams, {steps} steps",
    "epoch_text.sums": "one sum of 256 MiB arrays, repeated for a few seconds",
    "epoch_text.tokens": "{tokens} tokens after a prompt of {prompt}; the first round is a warm-up",
    "epoch_text.transfers": "256 MiB to the GPU and back, repeated for a few seconds",
    "proof.measured_digits": "Measured with {images:,} of the real digits.",
    "proof.measured_images": "Measured with the real images.",
    "proof.measured_other_data": "Not measured on the real data: a wide range around the losses on other data.",
    "proof.measured_synthetic": "Measured on a CPU with three seeds.",
    "value.auto": "auto",
    "value.off": "off",
    "value.on": "on",
    "value.plain": "{value}",
    "setting.batch_size": "Batch size",
    "setting.cpus": "CPUs",
    "setting.data": "Data",
    "setting.device": "Device",
    "setting.engine": "Engine",
    "setting.epochs": "Epochs",
    "setting.jit": "Compiled",
    "setting.onednn": "oneDNN",
    "setting.precision": "Precision",
    "setting.seed": "Seed",
    "setting.steps": "Steps",
    "setting.tf32": "TF32",
    "setting.threads": "Threads",
    "setting_help.batch_size": "Examples per step.",
    "setting_help.cpus": "Logical CPUs that the run may use, one per core first.",
    "setting_help.data": "Real data, or synthetic data of the same shape; auto uses real data if it is installed.",
    "setting_help.device": "Device that runs the network; gpu:0 is the first GPU.",
    "setting_help.engine": "Software that trains the network.",
    "setting_help.epochs": "Whole epochs of a Standard run.",
    "setting_help.jit": "Compile the training step with XLA, or with torch.compile for PyTorch. The studies did not.",
    "setting_help.onednn": "Use oneDNN kernels on the CPU.",
    "setting_help.precision": "Floating-point precision of the network.",
    "setting_help.seed": "Seed for weights, the order of examples and synthetic data.",
    "setting_help.steps": "Cut each epoch to this many steps, for a short run.",
    "setting_help.tf32": "Multiply float32 as TensorFloat-32 on NVIDIA GPUs since Ampere; auto is the engine's default.",
    "setting_help.threads": "Threads within one operation.",
    "setting_value.batch_size": "batch {value}",
    "setting_value.batch_size_auto": "default batch",
    "setting_value.cpus": ("{value} CPU", "{value} CPUs"),
    "setting_value.cpus_auto": "all CPUs",
    "setting_value.data": "{value} data",
    "setting_value.data_auto": "real data if installed",
    "setting_value.data_generated": "generated data",
    "setting_value.data_real": "real data",
    "setting_value.data_synthetic": "synthetic data",
    "setting_value.device_auto": "automatic device",
    "setting_value.device_cpu": "CPU",
    "setting_value.device_gpu": "GPU {number}",
    "setting_value.engine": "{value}",
    "setting_value.engine_auto": "automatic engine",
    "setting_value.epochs": ("{value:,} epoch", "{value:,} epochs"),
    "setting_value.epochs_auto": "default epochs",
    "setting_value.jit_auto": "compiled automatically",
    "setting_value.jit_off": "not compiled",
    "setting_value.jit_on": "compiled",
    "setting_value.onednn_auto": "automatic oneDNN",
    "setting_value.onednn_off": "without oneDNN",
    "setting_value.onednn_on": "oneDNN",
    "setting_value.precision": "{value}",
    "setting_value.precision_auto": "automatic precision",
    "setting_value.seed": "seed {value}",
    "setting_value.seed_auto": "default seed",
    "setting_value.steps": ("{value:,} step", "{value:,} steps"),
    "setting_value.steps_auto": "whole epochs",
    "setting_value.tf32_auto": "automatic TF32",
    "setting_value.tf32_off": "without TF32",
    "setting_value.tf32_on": "TF32",
    "setting_value.threads": ("{value} thread", "{value} threads"),
    "setting_value.threads_auto": "automatic threads",
    "setting_value.unknown": "{label} {value}",
    "setting_zero.cpus": "all",
    "setting_zero.steps": "whole epochs",
    "setting_zero.threads": "automatic",
    "parameter_help.auxiliary_heads": "Also train the two auxiliary heads inside the network.",
    "parameter_help.blocks": "Transformer blocks.",
    "parameter_help.characters": "Characters per sequence.",
    "parameter_help.fcn_layers": "Hidden layers: 3 as in the study's programs, or 4 as in its paper.",
    "parameter_help.filters": "Filters in the first stage.",
    "parameter_help.folders": "One folder on each drive to measure. The test's files are removed afterwards.",
    "parameter_help.heads": "Attention heads; the width must be a multiple of this number.",
    "parameter_help.hidden_layers": "Hidden layers.",
    "parameter_help.images": "Pictures of 110 kB written to each folder.",
    "parameter_help.lstm": (
        "How LSTM layers are computed: step by step as in the study, or fused (cuDNN on NVIDIA GPUs)."
    ),
    "parameter_help.lstm_layers": "LSTM layers.",
    "parameter_help.model_width": "Width between the blocks.",
    "parameter_help.network": (
        "Network to train: “small” has two convolutions, so that the drive matters; “googlenet” is study 001's."
    ),
    "parameter_help.outcome": "How the run ends.",
    "parameter_help.residual_blocks": "Residual blocks per stage.",
    "parameter_help.step_s": "Duration of a step.",
    "parameter_help.tokens": "Tokens per sequence.",
    "parameter_help.units": "Units per layer.",
    "parameter_help.vocabulary": "Number of different tokens.",
    "parameter_label.all_engines": "All engines",
    "parameter_label.auxiliary_heads": "Auxiliary heads",
    "parameter_label.blocks": "Blocks",
    "parameter_label.folders": "Folders",
    "parameter_label.heads": "Heads",
    "parameter_label.hidden_layers": "Hidden layers",
    "parameter_label.images": "Images",
    "parameter_label.layers": "Layers",
    "parameter_label.lstm": "LSTM",
    "parameter_label.network": "Network",
    "parameter_label.outcome": "Outcome",
    "parameter_label.repeat": "Repeat",
    "parameter_label.sequence": "Sequence",
    "parameter_label.step_s": "Step time",
    "parameter_label.vocabulary": "Vocabulary",
    "parameter_label.width": "Width",
    "headline.seconds_per_epoch_s": "Seconds per epoch",
    "headline.seconds_per_batch_s": "Seconds per mini-batch",
    "headline.images_per_s": "Images per second",
    "headline.words_per_s": "Words per second",
    "headline.tokens_per_s": "Tokens per second",
    "headline.flop_per_s": "Arithmetic",
    "headline.bytes_per_s": "Bandwidth",
    "headline_within.seconds_per_epoch_s": "seconds per epoch",
    "headline_within.seconds_per_batch_s": "seconds per mini-batch",
    "headline_within.images_per_s": "images per second",
    "headline_within.words_per_s": "words per second",
    "headline_within.tokens_per_s": "tokens per second",
    "headline_within.flop_per_s": "arithmetic",
    "headline_within.bytes_per_s": "bandwidth",
    "headline_unit.seconds_per_epoch_s": "s per epoch",
    "headline_unit.seconds_per_batch_s": "s per mini-batch",
    "headline_unit.images_per_s": "images per second",
    "headline_unit.words_per_s": "words per second",
    "headline_unit.tokens_per_s": "tokens per second",
    "headline_unit.flop_per_s": "TFLOP/s",
    "headline_unit.bytes_per_s": "GB/s",
    "headline_short.seconds_per_epoch_s": "s / epoch",
    "headline_short.seconds_per_batch_s": "s / batch",
    "headline_short.images_per_s": "images / s",
    "headline_short.words_per_s": "words / s",
    "headline_short.tokens_per_s": "tokens / s",
    "headline_short.flop_per_s": "TFLOP/s",
    "headline_short.bytes_per_s": "GB/s",
    "metric.seconds_per_epoch_s": "Seconds per epoch",
    "metric.first_epoch_s": "First epoch",
    "metric.step_median_s": "Typical step",
    "metric.spread_pct": "Spread",
    "metric.validation_s": "Validation pass",
    "metric.evaluate_s": "Evaluation on the test set",
    "metric.predict_s": "Prediction of 20 images",
    "metric.loss": "Loss",
    "metric.accuracy": "Accuracy",
    "metric.test_loss": "Test loss",
    "metric.test_accuracy": "Test accuracy",
    "metric.proof_loss": "Mean loss of the first steps",
    "metric.updates_asked": "Weight updates requested",
    "metric.updates_done": "Weight updates done",
    "metric.weights_changed": "Change of the output layer",
    "metric.examples_asked": "Training examples required",
    "metric.examples_done": "Training examples used",
    "metric.examples_declared": "Examples per epoch",
    "metric.examples_distinct": "Different examples",
    "metric.steps_counted": "Steps with counted operations",
    "metric.operations_per_example": "Operations per example and step",
    "metric.worker_clock_s": "Early to late steps, training process clock",
    "metric.parent_clock_s": "The same by Epochmark's clock",
    "metric.validation_batches": "Validation batches",
    "metric.vocabulary_words": "Vocabulary",
    "metric.latency_1_median_s": "Latency of 1 image, median",
    "metric.latency_1_p95_s": "Latency of 1 image, 95th percentile",
    "metric.latency_16_median_s": "Latency of 16 images, median",
    "metric.latency_16_p95_s": "Latency of 16 images, 95th percentile",
    "metric.few_samples_s": "160 images, 16 at a time",
    "metric.flop_per_s": "Fastest matrix product",
    "metric.matmul_1024_flop_per_s": "Product of 1,024 × 1,024",
    "metric.matmul_2048_flop_per_s": "Product of 2,048 × 2,048",
    "metric.matmul_4096_flop_per_s": "Product of 4,096 × 4,096",
    "metric.matmul_study_003_flop_per_s": "1,024 × 26,752 × 2,048, plain",
    "metric.matmul_study_003_transposed_flop_per_s": "1,024 × 26,752 × 2,048, transposed",
    "metric.bytes_per_s": "Bandwidth",
    "metric.host_to_device_bytes_per_s": "To the GPU",
    "metric.device_to_host_bytes_per_s": "From the GPU",
    "metric.fcn_r_gradients_s": "FCN-R gradients, from the GPU",
    "metric.images_per_s": "Images per second",
    "metric.words_per_s": "Words per second",
    "metric.tokens_per_s": "Tokens per second",
    "metric.prefill_tokens_per_s": "Prompt processing",
    "metric.peak_memory_bytes": "Peak memory of the training process",
    "metric.settled_memory_bytes": "Peak memory after 50 steps",
    "metric.peak_gpu_memory_bytes": "Peak GPU memory",
    "metric.operations_float32_pct": "Operations in float32",
    "metric.operations_float16_pct": "Operations in float16",
    "metric.operations_bfloat16_pct": "Operations in bfloat16",
    "metric.operations_float64_pct": "Operations in float64",
    "metric.folder": "Folder {number}: {case}",
    "metric.folder_data": "Folder {number}: {case}, data",
    "metric.folder_difference": "Folder {number} vs. folder 1: {case}",
    "storage_case.write": "write JPEGs",
    "storage_case.preprocess": "preprocess",
    "storage_case.read_jpeg": "read from JPEGs",
    "storage_case.read_tfrecord": "read from TFRecords",
    "storage_case.read_cache": "read from memory",
    "storage_case.train_jpeg": "train from JPEGs",
    "storage_case.train_tfrecord": "train from TFRecords",
    "storage_case.train_cache": "train from memory",
    "storage_case.infer_jpeg": "predict from JPEGs",
    "storage_case.infer_tfrecord": "predict from TFRecords",
    "storage_case.infer_cache": "predict from memory",
    "time_left.hours": "about {hours} h {minutes} min",
    "time_left.minutes": "about {minutes} min {seconds} s",
    "time_left.seconds": "about {seconds} s",
    "help.setting_batch_size": "examples per step",
    "help.setting_cpus": "logical CPUs that the run may use, one per core first",
    "help.setting_data": "real data, or synthetic data of the same shape; auto uses real data if it is installed",
    "help.setting_device": "device that runs the network; gpu:0 is the first GPU",
    "help.setting_engine": "software that trains the network",
    "help.setting_epochs": "whole epochs of a Standard run",
    "help.setting_jit": "compile the training step with XLA, or with torch.compile for PyTorch",
    "help.setting_onednn": "use oneDNN kernels on the CPU",
    "help.setting_precision": "floating-point precision of the network",
    "help.setting_seed": "seed for weights, the order of examples and synthetic data",
    "help.setting_steps": "cut each epoch to this many steps, for a short run",
    "help.setting_tf32": "multiply float32 as TensorFloat-32 on NVIDIA GPUs since Ampere; auto is the engine's default",
    "help.setting_threads": "threads within one operation",
    "level.caution": "Caution",
    "level.fact": "Note",
    "level.invalid": "Invalid",
    "level.valid": "Valid",
    "part.disk_hard": "hard disk",
    "part.disk_network": "network",
    "part.disk_usb": "USB disk",
    "part.disk_virtual": "virtual disk",
}
