"""Random waveforms with the features that librosa makes of them, for `main.rs`.

    python3 peer.py FOLDER SEED COUNT

writes COUNT cases to FOLDER/cases.jsonl and FOLDER/data.bin. Exits with 3 where a package is missing.
"""

import json
import pathlib
import sys

try:
    import numba

    # Functions that nothing here calls would be compiled while librosa loads.
    numba.guvectorize = numba.vectorize = lambda *_, **__: lambda function: function
    import librosa
    import numpy as np
except (ImportError, OSError) as error:
    print(f"no Python package: {error}")
    sys.exit(3)

BANDS = librosa.filters.mel(sr=16000, n_fft=512, n_mels=80, fmin=0, fmax=8000, dtype=np.float64)


def waveform(rng, length):
    """Tones that come and go over a floor of noise, as 16-bit samples; silent in parts."""
    time = np.arange(length) / 16000
    samples = rng.normal(0, 3e-3, length)
    for _ in range(rng.integers(1, 6)):
        loudness = rng.uniform(0.005, 0.15) * (1 + np.sin(2 * np.pi * (rng.uniform(0.5, 8) * time + rng.random())))
        samples += loudness * np.sin(2 * np.pi * rng.uniform(80, 7000) * time)
    if rng.random() < 0.3:
        start = rng.integers(length)
        samples[start : start + rng.integers(length)] = 0
    return (np.clip(np.round(samples * 32768), -32768, 32767) / 32768).astype(np.float32)


def features(samples, dither):
    samples = samples.astype(np.float64)
    emphasised = np.append(samples[0], samples[1:] - 0.97 * samples[:-1])
    spectrum = librosa.stft(
        emphasised, n_fft=512, hop_length=160, win_length=320, window=np.hanning(320), center=True, pad_mode="reflect"
    )
    bands = np.log(BANDS @ (np.abs(spectrum) ** 2 + dither**2) + 1e-20).T
    row_count = -(-(-(-len(samples) // 160)) // 3)
    rows = np.zeros((3 * max(row_count, -(-len(bands) // 3)), 80))
    rows[: len(bands)] = bands
    rows = rows.reshape(-1, 240)[:row_count]
    return (rows - rows.mean(axis=0)) / (rows.std(axis=0, ddof=1) + 1e-5)


def main(folder, seed, count):
    rng = np.random.default_rng(seed)
    cases, data = open(folder / "cases.jsonl", "w", encoding="utf-8"), open(folder / "data.bin", "wb")

    def put(values):
        start = data.tell()
        data.write(values.astype("<f4").tobytes())
        return [start // 4, values.size]

    for number in range(count):
        # Some at the edge of a frame or a row.
        length = int(rng.integers(481, 240000 if number % 50 == 0 else 16000))
        length = [length, length // 160 * 160, length // 480 * 480, length // 480 * 480 + 1][number % 4]
        samples, dither = waveform(rng, max(length, 481)), [0.0, 1e-5][number % 2]
        case = {"dither": dither > 0, "waveform": put(samples), "features": put(features(samples, dither))}
        print(json.dumps(case), file=cases)


main(pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:]))
