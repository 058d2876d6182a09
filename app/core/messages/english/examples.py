"""The examples below each command's --help."""

SENTENCES: dict[str, str | tuple[str, str]] = {
    "examples.ab": (
        "examples:\n"
        "  %(prog)s --preset quick --a threads=1 --b threads=2\n"
        "      Is one thread slower than two?\n"
        "  %(prog)s mnist_mlp --b xla=on,precision=mixed_float16 --pairs 3\n"
        "      The usual settings against a compiled network in half precision\n"
        '  %(prog)s --by-hand --label-a "plugged in" --label-b "on battery"\n'
        "      Asks you to unplug the computer, and to plug it in again"
    ),
    "examples.app": (
        "examples:\n"
        "  %(prog)s run --preset quick\n"
        "      An estimate from 30 to 60 s of steps\n"
        "  %(prog)s compare\n"
        "      Your latest result among published ones\n"
        "  %(prog)s run --help\n"
        "      All options of a command, with examples"
    ),
    "examples.compare": (
        "examples:\n"
        "  %(prog)s\n"
        "      The standard workload\n"
        '  %(prog)s mnist_cnn --baseline "1080 Ti"\n'
        "      How many times as fast each is as that card"
    ),
    "examples.completion": (
        "examples:\n"
        "  %(prog)s bash > ~/.epochmark.bash\n"
        "      Then add to ~/.bashrc: source ~/.epochmark.bash\n"
        "  %(prog)s zsh > ~/.epochmark.zsh\n"
        "      Then add to ~/.zshrc: source ~/.epochmark.zsh\n"
        "  %(prog)s fish > ~/.config/fish/conf.d/epochmark.fish\n"
        "After start.py, the script also defines the command epochmark, which works in every folder."
    ),
    "examples.data_fetch": (
        "examples:\n"
        "  %(prog)s cifar10\n"
        "  %(prog)s mnist --url https://mirror.example/mnist/\n"
        "      From a mirror; the checksums are the same"
    ),
    "examples.data_import": (
        "examples:\n  %(prog)s ptb ~/Downloads/simple-examples/data\n      A folder that holds the official files"
    ),
    "examples.data_list": "example:\n  %(prog)s --json",
    "examples.data_remove": "example:\n  %(prog)s cifar10",
    "examples.doctor": (
        "examples:\n"
        "  %(prog)s\n"
        "      Checks driver, engines and each device, in about ten seconds\n"
        "  %(prog)s --log training.log\n"
        "      Explains the lines of a log\n"
        "  %(prog)s --report\n"
        "      Names no user, folder or serial number"
    ),
    "examples.engine_check": "examples:\n  %(prog)s\n  %(prog)s torch",
    "examples.engine_compare": (
        "examples:\n"
        "  %(prog)s\n"
        "      The standard workload\n"
        "  %(prog)s mnist_mlp mnist_cnn --rounds 5 --device cpu\n"
        "      Two workloads, on the CPU, five times each"
    ),
    "examples.engine_install": (
        "examples:\n"
        "  %(prog)s torch\n"
        "      The build that fits this computer best\n"
        "  %(prog)s jax --variant cpu --from ~/packages\n"
        "      A certain build, without a network"
    ),
    "examples.engine_list": "example:\n  %(prog)s --json",
    "examples.engine_remove": "example:\n  %(prog)s torch",
    "examples.group": "example:\n  %(prog)s 1",
    "examples.hardware": "example:\n  %(prog)s --json",
    "examples.results_delete": "example:\n  %(prog)s 3 4 5",
    "examples.results_export": (
        "examples:\n"
        "  %(prog)s --output runs.csv\n"
        "      All runs\n"
        "  %(prog)s 3 4 --format json\n"
        "      Two runs, with every step, to standard output"
    ),
    "examples.results_list": "examples:\n  %(prog)s --limit 10\n  %(prog)s --imported\n  %(prog)s --json",
    "examples.results_show": "examples:\n  %(prog)s 1\n  %(prog)s 1 --json\n  %(prog)s 1 --imported",
    "examples.run": (
        "examples:\n"
        "  %(prog)s\n"
        "      The standard benchmark\n"
        "  %(prog)s mnist_mlp --preset quick\n"
        "      An estimate from 30 to 60 s of steps\n"
        "  %(prog)s --device cpu --repeat 5\n"
        "      Five runs on the CPU\n"
        "  %(prog)s --engine torch --precision mixed_float16 --batch 256\n"
        "      Another engine, precision and batch size"
    ),
    "examples.share": (
        "examples:\n  %(prog)s 1 --output result.png --theme light"
        "\n  %(prog)s 2 --group --output ab.png\n      Of an A/B"
    ),
    "examples.study_export": (
        "examples:\n  %(prog)s 3 --format json --output study.json\n      Every point with its runs and interval"
    ),
    "examples.study_list": ("examples:\n  %(prog)s\n      Numbers, titles and how many points have a result"),
    "examples.study_prices": (
        "examples:\n"
        "  %(prog)s --electricity 0.3 --power 120 --purchase 1500\n"
        "      The whole computer\n"
        '  %(prog)s --device "RTX 5070" --power 320 --purchase 700\n'
        "      While that card trains"
    ),
    "examples.study_resume": ("examples:\n  %(prog)s 3\n      Only the points without a result run"),
    "examples.study_run": (
        "examples:\n"
        "  %(prog)s batch\n"
        "      Does a bigger batch help, and up to which one?\n"
        "  %(prog)s software --workload mnist_mlp\n"
        "      Every installed engine, with and without compiling\n"
        "  %(prog)s sizing --folder /mnt/nvme --folder /mnt/disk\n"
        "      How many CPUs reading needs from each drive, and what limits it\n"
        "  %(prog)s --axis batch=32,128,512 --axis threads=1,2\n"
        "      A grid of your own"
    ),
    "examples.study_share": (
        "examples:\n  %(prog)s 3 --output cores.png\n      The study's answer with its chart, to post"
    ),
    "examples.study_show": ("examples:\n  %(prog)s 3\n      The table of points, and the result in sentences"),
    "examples.suite": (
        "examples:\n"
        "  %(prog)s\n"
        "      All parts on this computer, and their score\n"
        "  %(prog)s --engine torch --device cpu\n"
        "      The same with another engine, on the processor\n"
        "  %(prog)s resume 3\n"
        "      Only the parts without a result run"
    ),
    "examples.suite_export": (
        "examples:\n  %(prog)s 3 --format json --output suite.json\n      Every part with its points and interval"
    ),
    "examples.suite_list": ("examples:\n  %(prog)s\n      Numbers, scores and verdicts"),
    "examples.suite_resume": ("examples:\n  %(prog)s 3\n      Only the parts without a result run"),
    "examples.suite_share": (
        "examples:\n  %(prog)s 3 --output score.png\n      The score with the points of all parts, to post"
    ),
    "examples.suite_show": ("examples:\n  %(prog)s 3\n      The score, and a table of the parts"),
    "examples.workloads": "example:\n  %(prog)s --json\n      With the parameters that --set can change",
    "examples.import": (
        "examples:\n"
        "  %(prog)s picture.png result.json\n"
        "      Their bars then stand beside your runs, as imported and not verified\n"
        "  %(prog)s lab\n"
        "      All result files, pictures and exports in a folder\n"
        '  %(prog)s log.csv --workload mnist_cnn --name "RTX 3060"\n'
        "      An epoch log (CSV: epoch, elapsed, loss, acc, val_loss, val_acc)\n"
        "  %(prog)s --list"
    ),
    "examples.submit": "example:\n  %(prog)s 3 --output mine.epochmark.json --without comment,date",
    "examples.table_build": (
        "example:\n"
        "  %(prog)s results --output table.json\n"
        "      A row for each device, engine, workload, batch and precision"
    ),
    "examples.table_get": "examples:\n  %(prog)s https://example.org/table.json\n  %(prog)s --previous",
    "examples.table_check": "example:\n  %(prog)s results/*.epochmark.json",
}
