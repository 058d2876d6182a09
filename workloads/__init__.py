"""The catalogue of workloads and the worker process that runs them. Neither imports the app, Qt or a database.

None of the modules imported by this one imports an engine, so the GUI and the CLI can read `CATALOGUE`
immediately.
"""

from workloads.demo import Demo
from workloads.networks import (
    alexnet,
    cifar10,
    fcn,
    flowers,
    googlenet,
    gpt,
    imagenet,
    imdb,
    lora,
    mnist,
    nietzsche,
    parametric,
    ptb,
    resnet,
    sentences,
    vision,
)
from workloads.networks.generation import GptSmallGeneration
from workloads.networks.inference import Inference
from workloads.system.attention import Attention
from workloads.system.limits import AllReduce, HostToDevice, Matmul, MemoryBandwidth
from workloads.system.storage import Storage
from workloads.training.training import Training
from workloads.workload import Workload

_TRAINING: tuple[Training, ...] = (
    # Study 004
    cifar10.Cifar10KerasCnn(),
    # Study 000
    mnist.MnistMlp(),
    mnist.MnistCnn(),
    mnist.MnistCnnNoDropoutAdam(),
    cifar10.Cifar10Cnn(),
    imdb.ImdbFastText(),
    imdb.ImdbFastTextUnigram(),
    imdb.ImdbBidirectionalLstm(),
    nietzsche.LstmTextGeneration(),
    nietzsche.TextGeneratorKeras(),
    # Study 003
    fcn.FcnS(),
    fcn.FcnR(),
    alexnet.AlexNetS(),
    alexnet.AlexNetR(),
    resnet.ResNet50S(),
    resnet.ResNet56(),
    ptb.PtbLstm32(),
    ptb.PtbLstm64(),
    # Study 001
    imagenet.AlexNetCaffe(),
    googlenet.GoogLeNet(),
    resnet.ResNet50(),
    imagenet.Vgg16(),
    imagenet.InceptionV3(),
    sentences.PtbLstmMxnet(),
    # Study 002
    flowers.FlowersXception(),
    flowers.FlowersResNet50(),
    flowers.FlowersVgg16(),
    # Not part of any study
    mnist.FashionMnistCnn(),
    # Modern networks
    gpt.GptMini(),
    gpt.GptTiny(),
    gpt.GptSmall(),
    gpt.NanoGptChar(),
    lora.LoraQwen3(),
    vision.VitTiny(),
    vision.ResNet50Of224(),
    vision.ConvNextTiny(),
    vision.EfficientNetB0(),
    vision.MobileNetV3Large(),
    parametric.FcParametric(),
    parametric.CnnParametric(),
    parametric.RnnParametric(),
)
# The first differs from mnist_cnn only in its training. The second is intended for studies of training.
_ONLY_TRAINED = (mnist.MnistCnnNoDropoutAdam.id, parametric.CnnParametric.id)
_INFERENCE = tuple(
    Inference(workload) for workload in _TRAINING if workload.kind == "image" and workload.id not in _ONLY_TRAINED
)
_LIMITS = (Matmul(), Attention(), MemoryBandwidth(), HostToDevice(), AllReduce())

CATALOGUE: dict[str, Workload] = {
    workload.id: workload
    for workload in (*_TRAINING, *_INFERENCE, GptSmallGeneration(), *_LIMITS, Storage(), Demo())
}
STANDARD = cifar10.Cifar10KerasCnn.id
# What a chooser lists first: eight networks, and those of them that also predict.
_NETWORKS = (
    STANDARD,
    "resnet50_224",
    "gpt_mini",
    "vit_tiny_224",
    "imdb_bidirectional_lstm",
    "mnist_mlp",
    "gpt_small",
    "lora_qwen3",
)
_PREDICTION = [f"{name}{end}" for name in _NETWORKS for end in ("_inference", "_generation")]
RECOMMENDED = (*_NETWORKS, *(name for name in _PREDICTION if name in CATALOGUE))
