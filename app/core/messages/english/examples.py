"""The examples below each command's --help."""

SENTENCES: dict[str, str | tuple[str, str]] = {
    "examples.ab": 'examples:\n  %(prog)s --a threads=1 --b threads=2\n      One thread against two\n  %(prog)s mnist_mlp --b xla=on,precision=mixed_float16 --pairs 3\n      The default settings against a compiled network in half precision\n  %(prog)s --by-hand --label-a "plugged in" --label-b "on battery"\n      Pauses so that you can unplug the computer and plug it in again',
    "examples.app": (
        "examples:\n"
        "  %(prog)s run\n"
        "      An estimate from 30–60 s of steps\n"
        "  %(prog)s compare\n"
        "      Your best run among published results\n"
        "  %(prog)s run --help\n"
        "      All options of a command, with examples"
    ),
    "examples.compare": 'example:\n  %(prog)s mnist_cnn --baseline "1080 Ti"\n      Speeds relative to that card',
    "examples.completion": "examples:\n  %(prog)s bash > ~/.epochmark.bash\n      Then add to ~/.bashrc: source ~/.epochmark.bash\n  %(prog)s zsh > ~/.epochmark.zsh\n      Then add to ~/.zshrc: source ~/.epochmark.zsh\n  %(prog)s fish > ~/.config/fish/conf.d/epochmark.fish\nIf start.py printed the script, it also defines an epochmark command that works in any folder.",
    "examples.data_fetch": (
        "examples:\n"
        "  %(prog)s cifar10\n"
        "  %(prog)s mnist --url https://mirror.example/mnist/\n"
        "      From a mirror, with the same checksums"
    ),
    "examples.data_import": "example:\n  %(prog)s ptb ~/Downloads/simple-examples/data\n      A folder with the official files",
    "examples.doctor": "examples:\n  %(prog)s\n      Checks the driver, engines and devices\n  %(prog)s --log training.log\n      Explains the lines of a log",
    "examples.engine_compare": "example:\n  %(prog)s mnist_mlp mnist_cnn --rounds 5 --device cpu\n      Two workloads on the CPU, five times each",
    "examples.engine_install": (
        "examples:\n"
        "  %(prog)s torch\n"
        "      The best build for this computer\n"
        "  %(prog)s jax --variant cpu --from ~/packages\n"
        "      A specific build, offline"
    ),
    "examples.results_export": "examples:\n  %(prog)s --output runs.csv\n      All runs\n  %(prog)s 3 4 --format json\n      Two runs with every step, printed to standard output",
    "examples.run": 'examples:\n  %(prog)s "MNIST MLP"\n      Another network\n  %(prog)s --device cpu --repeat 5\n      Five runs on the CPU\n  %(prog)s --engine torch --precision mixed_float16 --batch 256\n      Another engine, precision and batch size',
    "examples.results_share": "examples:\n  %(prog)s 1 --output result.png --theme light\n  %(prog)s 2 --group --output ab.png\n      An A/B test",
    "examples.study_run": "examples:\n  %(prog)s batch\n      How large should batches be?\n  %(prog)s software --workload mnist_mlp\n      Every installed engine, with and without compilation\n  %(prog)s sizing --folder /mnt/nvme --folder /mnt/disk\n      How many CPUs it takes to read from each drive, and what limits the speed\n  %(prog)s --axis batch=32,128,512 --axis threads=1,2\n      A custom grid",
    "examples.suite": "examples:\n  %(prog)s\n      All tests on this computer\n  %(prog)s --engine torch --device cpu\n      The same with another engine, on the CPU\n  %(prog)s resume 3\n      Only tests without a result",
    "examples.workloads": "example:\n  %(prog)s --json\n      With the parameters that --set can change",
    "examples.import": "examples:\n  %(prog)s picture.png result.json\n      Shows these results next to your runs, marked “imported, not verified”\n  %(prog)s lab\n      All result files and pictures in a folder\n  %(prog)s --list",
}
