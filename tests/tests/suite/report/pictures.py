"""Makes the pictures of docs/reading-a-result.md and of README.md: pages of runs, good ones and bad ones.

    cargo build -p host -p proctor-mock
    python3 tests/tests/suite/report/pictures.py target/debug/host

Most runs are in virtual time and the same each time. Those with tokens and with issue delays are not: start this with
`chrt --fifo 10`, so that it goes before other programs; the bad run with issue delays does not, and takes a busy machine. Needs chromium-headless-shell; with Pillow the files are half as large.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

OUTPUT = pathlib.Path(__file__).parents[4] / "docs" / "pictures"
WIDTH = 460

PERFORMANCE = "run --plugin mock --mode performance"
VIRTUAL = f"{PERFORMANCE} --virtual-time"
SERVER = (
    f"{VIRTUAL} --scenario Server --set server_target_latency_ns=20000000 --set mock.service=log-normal"
    " --batch-size 4 --set mock.service_us=1500 --set mock.per_sample_us=150 --set mock.stages=true --duration 10s"
)
REAL = f"{PERFORMANCE} --scenario Server --set mock.service=log-normal --duration 3s"
TOKENS = f"{REAL} --set use_token_latencies=true --set mock.tokens=16 --set mock.service_us=4000 --set mock.service_sigma=0.2"
PEAK = "run --plugin mock --virtual-time --scenario Server --mode FindPeakPerformance --target-qps 100"
SCALE = (
    "scale --plugin mock --virtual-time --policy joint --duration 20 --set mock.service=log-normal"
    " --set mock.service_sigma=0.1 --set mock.service_us=4000 --set mock.per_sample_us=200"
)

RUNS = {
    "good": f"{SERVER} --target-qps 350",
    "bad": f"{SERVER} --target-qps 1000 --arrivals gamma --arrivals-cv 3 --set mock.service_sigma=0.9",
    "overload": f"{SERVER} --target-qps 2000 --set mock.service_sigma=0.2",
    "full": f"{SERVER} --target-qps 1500 --set mock.service_sigma=0.2",
    "tokens-good": f"{TOKENS} --target-qps 190",
    "tokens-bad": f"{TOKENS} --target-qps 270",
    "delay-good": f"{REAL} --set wait=spin --set mock.service_us=300 --target-qps 300",
    "delay-bad": f"{REAL} --set wait=spin --set mock.service_us=300 --target-qps 300",
    "peak-good": f"{PEAK} --set mock.service=fixed --set min_duration_ms=60000",
    "peak-bad": f"{PEAK} --set mock.service=log-normal --set mock.service_sigma=1.2 --set min_duration_ms=300 --set min_query_count=60",
    "policy-good": f"{SCALE} --slo-ms 40",
    "policy-bad": f"{SCALE} --slo-ms 4.5",
}

# Name of the file, the run, and the title of the picture.
PICTURES = [
    ("latency-good", "good", "Latency of queries"),
    ("latency-bad", "bad", "Latency of queries"),
    ("time-good", "good", "Latency over time"),
    ("time-bad", "overload", "Latency over time"),
    ("delay-good", "delay-good", "Issue delay over time"),
    ("delay-bad", "delay-bad", "Issue delay over time"),
    ("outstanding-good", "good", "Outstanding samples over time"),
    ("outstanding-bad", "overload", "Outstanding samples over time"),
    ("throughput-good", "good", "Throughput over time"),
    ("throughput-bad", "overload", "Throughput over time"),
    ("batches-good", "full", "Batches by size"),
    ("batches-bad", "good", "Batches by size"),
    ("stages-good", "good", "Where the time went"),
    ("stages-bad", "bad", "Where the time went"),
    ("tokens-good", "tokens-good", "Time to the first token"),
    ("tokens-bad", "tokens-bad", "Time to the first token"),
    ("search-good", "peak-good", "Steps of the search"),
    ("search-bad", "peak-bad", "Steps of the search"),
    ("scaling-good", "policy-good", "Tail latency under the policy"),
    ("scaling-bad", "policy-bad", "Tail latency under the policy"),
]


def screenshot(page: pathlib.Path, file: pathlib.Path, width: int, height: int, scale: float) -> None:
    subprocess.run(
        ["chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--screenshot={file}",
         f"--window-size={width},{height}", f"--force-device-scale-factor={scale}",
         "--blink-settings=preferredColorScheme=1", f"file://{page}"],
        check=True, capture_output=True,
    )
    try:
        from PIL import Image
    except ImportError:
        return
    Image.open(file).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(file, optimize=True)


def main() -> None:
    host = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pages = {}
        for run, flags in RUNS.items():
            way = ["chrt", "--other", "0"] if run == "delay-bad" else []
            command = [*way, host, *flags.split(), "--output", folder / run]
            ended = subprocess.run(command, capture_output=True, text=True)
            if ended.returncode not in (0, 1):
                sys.exit(f"{run}: {ended.stderr}")
            page = folder / f"{run}.html"
            subprocess.run([host, "report", folder / run, "-o", page], check=True, capture_output=True)
            pages[run] = page.read_text()
        style = re.search(r"<style>.*?</style>", pages["good"], re.DOTALL)[0]
        for file, run, title in PICTURES:
            pictures = re.findall(r'<svg class="picture".*?</svg>\n', pages[run], re.DOTALL)
            picture = next(picture for picture in pictures if f">{title}</title>" in picture)
            height = int(re.search(r'width="100%" height="(\d+)', picture)[1])
            page = folder / "picture.html"
            page.write_text(f'<!DOCTYPE html><meta charset="utf-8">{style}<body style="padding:8px">{picture}')
            screenshot(page, OUTPUT / f"{file}.png", WIDTH, height + 16, 1.5)
            print(file)
        page = folder / "bad.html"
        screenshot(page, OUTPUT / "page.png", 960, 1500, 1)


main()
