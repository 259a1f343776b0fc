"""Random sound files as soundfile writes and reads them, for `main.rs`.

    python3 peer.py FOLDER SEED COUNT

writes COUNT cases to FOLDER/cases.jsonl and FOLDER/data.bin. Exits with 3 where a package is missing.
"""

import io
import json
import pathlib
import sys

try:
    import numpy as np
    import soundfile
except (ImportError, OSError) as error:
    print(f"no Python package: {error}")
    sys.exit(3)


def waveform(rng, length, channels):
    """Something of what recordings hold: silence, tones, noise, the loudest samples, and one value throughout."""
    shape = (length, channels)
    kind = rng.integers(6)
    if kind == 0:
        samples = np.zeros(shape)
    elif kind == 1:
        samples = np.full(shape, rng.integers(-32768, 32768))
    elif kind == 2:
        samples = rng.integers(-32768, 32768, shape)
    elif kind == 3:
        samples = rng.choice([-32768, 32767], shape)
    else:
        time = np.arange(length)[:, None] * rng.uniform(0.001, 0.5, channels)
        samples = np.sin(time) * rng.uniform(10, 30000) + rng.normal(0, rng.choice([0.0, 3.0, 300.0]), shape)
        if kind == 5:
            # Samples with zeros in their lowest bits are stored with fewer bits.
            samples = np.round(samples / 8) * 8
    return np.clip(np.round(samples), -32768, 32767).astype(np.int16)


def main(folder, seed, count):
    rng = np.random.default_rng(seed)
    cases, data = open(folder / "cases.jsonl", "w", encoding="utf-8"), open(folder / "data.bin", "wb")

    def put(values):
        start = data.tell()
        data.write(values)
        return [start, len(values)]

    for number in range(count):
        channels, rate = (1, 16000) if number % 8 else (int(rng.integers(1, 4)), int(rng.choice([8000, 44100])))
        kind = str(rng.choice(["FLAC", "FLAC", "FLAC", "WAV", "WAVEX"]))
        subtype = "PCM_16" if number % 16 != 1 else str(rng.choice(["PCM_24", "FLOAT" if kind != "FLAC" else "PCM_S8"]))
        samples = waveform(rng, int(rng.integers(1, 12000)), channels)
        file = io.BytesIO()
        level = {"compression_level": float(rng.uniform(0, 1))} if kind == "FLAC" else {}
        soundfile.write(file, samples, rate, subtype=subtype, format=kind, **level)
        expected, _ = soundfile.read(io.BytesIO(file.getvalue()), dtype="int16", always_2d=True)
        case = {"kind": kind, "subtype": subtype, "rate_hz": rate, "channel_count": channels}
        case |= {"file": put(file.getvalue()), "samples": put(expected.astype("<i2").tobytes())}
        print(json.dumps(case), file=cases)


main(pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:]))
