"""The operations of each network's training step, for one example: what a run's own count must not fall short of.

Products and convolutions behind the gradients, a multiplication and an addition as two, counted in the graphs that
TensorFlow 2.21 traces (`python -m tests.benchmarks.operations`). They depend on neither batch nor precision. Not
here is `ptb_lstm_mxnet`, whose sentences differ in length.
"""

STEP_OPERATIONS: dict[str, int] = {
    "cifar10_keras_cnn": 236_330_496,
    "mnist_mlp": 3_209_216,
    "mnist_cnn": 71_565_312,
    "mnist_cnn_nodropout_adam": 71_565_312,
    "cifar10_cnn": 122_677_248,
    # Nearly all of their work is looking up and changing tables, which has no operations.
    "imdb_fasttext": 300,
    "imdb_fasttext_unigram": 300,
    "imdb_bidirectional_lstm": 58_983_168,
    "lstm_text_generation": 18_987_776,
    "text_generator_keras": 53_903_616,
    "fcn_s": 598_212_608,
    "fcn_r": 81_981_440,
    "alexnet_s": 6_600_706_176,
    "alexnet_r": 59_477_760,
    "resnet_50_s": 22_911_811_584,
    "resnet_56": 752_029_440,
    "lstm_ptb_32": 692_846_592,
    "lstm_ptb_64": 1_385_693_184,
    "alexnet_caffe": 4_135_610_496,
    "googlenet": 9_310_236_672,
    "resnet_50": 22_911_811_584,
    "vgg16": 92_648_177_664,
    "inception_v3": 34_240_933_248,
    "flowers_xception_331": 61_265_024_304,
    "flowers_resnet50_331": 52_249_205_760,
    "flowers_vgg16_331": 197_087_076_096,
    "fashion_mnist_cnn_412k": 12_860_416,
    "gpt_mini": 61_203_283_968,
    "gpt_tiny": 135_291_469_824,
    "gpt_small": 328_564_998_144,
    "nanogpt_char": 18_153_013_248,
    "vit_tiny_224": 7_464_296_448,
    "resnet50_224": 24_299_077_632,
    "convnext_tiny_224": 26_704_286_208,
    "efficientnet_b0_224": 2_293_212_480,
    "mobilenetv3_large_224": 1_288_700_544,
    "fc_parametric": 104_169_472,
    "cnn_parametric": 2_531_506_176,
    "rnn_parametric": 250_478_592,
}
