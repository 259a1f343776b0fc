# Computes the features of a waveform with librosa, for `host bench data`. It comes after worker.py.
#
# The first argument is JSON with the path of the waveform, see mel.rs. Requests are `compute`, answered with the time, and
# `check`, which writes the features.


class Mel:
    """The features of RNN-T as the reference computes them, by librosa and NumPy."""

    def __init__(self, spec):
        import librosa
        import numpy

        self.librosa, self.np, self.folder, self.version = librosa, numpy, spec["folder"], librosa.__version__
        self.bands = librosa.filters.mel(sr=16000, n_fft=512, n_mels=80, fmin=0, fmax=8000)
        self.window = numpy.hanning(320).astype(numpy.float32)
        self.samples = numpy.fromfile(spec["waveform"], dtype=numpy.float32)

    def answer(self, request):
        if request["do"] == "check":
            self.features().astype("float32").tofile(os.path.join(self.folder, "features.f32"))
            return {}
        start = time.perf_counter()
        self.features()
        return {"seconds": time.perf_counter() - start}

    def features(self):
        np, samples = self.np, self.samples
        emphasised = np.append(samples[:1], samples[1:] - np.float32(0.97) * samples[:-1])
        spectrum = self.librosa.stft(
            emphasised, n_fft=512, hop_length=160, win_length=320, window=self.window, center=True, pad_mode="reflect"
        )
        bands = np.log(self.bands @ (np.abs(spectrum) ** 2 + np.float32(1e-10)) + np.float32(1e-20)).T
        row_count = -(-(-(-len(samples) // 160)) // 3)
        rows = np.zeros((3 * max(row_count, -(-len(bands) // 3)), 80), dtype=np.float32)
        rows[: len(bands)] = bands
        rows = rows.reshape(-1, 240)[:row_count]
        return (rows - rows.mean(axis=0)) / (rows.std(axis=0, ddof=1) + np.float32(1e-5))


serve(Mel)
