# Runs a model with the package onnxruntime, for `host bench engines`. It comes after worker.py.
#
# The first argument is JSON, see problem.rs: the ONNX file, files of samples, and how to run it. Requests are `load` and
# `measure`, see request.rs. The settings of the session are those of the plugin onnx: the package's own, but for threads.

TYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "i8": "int8", "u8": "uint8", "i16": "int16"}
TYPES |= {"i32": "int32", "i64": "int64", "bool": "bool", "u16": "uint16", "u32": "uint32", "u64": "uint64"}


class OnnxRuntime:
    """A session, called in two ways on several batches in turn, so that inputs are not still in the nearest cache."""

    def __init__(self, spec):
        import numpy
        import onnxruntime

        self.numpy, self.module, self.spec = numpy, onnxruntime, spec
        self.version = onnxruntime.__version__
        self.calls = {}

    def answer(self, request):
        if request["do"] == "load":
            return self.load()
        write_times(self.spec["folder"], times_ns(request["window"], self.calls[request["way"]]))
        return {}

    def load(self):
        begin = time.perf_counter()
        options = self.module.SessionOptions()
        options.intra_op_num_threads = self.spec["threads"]
        options.inter_op_num_threads = 1
        session = self.module.InferenceSession(self.spec["model"], options, providers=["CPUExecutionProvider"])
        batches = self.batches(session)
        outputs = self.outputs(session, batches[0])
        self.calls = {"run": self.by_run(session, batches), "binding": self.by_binding(session, batches, outputs)}
        load_ms = (time.perf_counter() - begin) * 1e3
        begin = time.perf_counter()
        self.calls["run"]()
        call_ms = (time.perf_counter() - begin) * 1e3
        return {"load_ms": load_ms, "call_ms": call_ms, "library": self.library()}

    def library(self):
        """The runtime as a library that others can load: packages bring it beside the one that Python loads."""
        folder = os.path.join(os.path.dirname(self.module.__file__), "capi")
        names = [name for name in os.listdir(folder) if name.startswith("libonnxruntime.so")]
        return os.path.join(folder, sorted(names)[-1]) if names else None

    def batches(self, session):
        """By the names that the file has for them, else in its order."""
        names = [tensor.name for tensor in session.get_inputs()]
        ours = [tensor["name"] for tensor in self.spec["inputs"]]
        arrays = dict(zip(names if set(names) != set(ours) else ours, map(self.read, self.spec["inputs"])))
        count = len(next(iter(arrays.values())))
        return [{name: self.aligned(array[batch]) for name, array in arrays.items()} for batch in range(count)]

    def read(self, tensor):
        values = self.numpy.fromfile(tensor["file"], TYPES[tensor["element_type"]])
        return values.reshape([-1, self.spec["batch"], *tensor["shape"]])

    def aligned(self, array):
        """A copy that begins at a multiple of 64 bytes, as the buffers of the host do."""
        room = self.numpy.empty(array.nbytes + 64, "uint8")
        skip = -room.ctypes.data % 64
        copy = room[skip : skip + array.nbytes].view(array.dtype).reshape(array.shape)
        copy[...] = array
        return copy

    def outputs(self, session, batch):
        """Calls once, writes what comes out sample by sample, and returns arrays of the same shapes."""
        names = [tensor.name for tensor in session.get_outputs()]
        ours = [tensor["name"] for tensor in self.spec["outputs"]]
        names = ours if set(ours) <= set(names) else names[: len(ours)]
        arrays = dict(zip(names, session.run(names, batch)))
        types = [TYPES[tensor["element_type"]] for tensor in self.spec["outputs"]]
        with open(os.path.join(self.spec["folder"], "output.bin"), "wb") as file:
            for sample in range(self.spec["batch"]):
                for array, element_type in zip(arrays.values(), types):
                    file.write(array[sample].astype(element_type).tobytes())
        return {name: self.aligned(array) for name, array in arrays.items()}

    def by_run(self, session, batches):
        names, turn = [tensor.name for tensor in session.get_outputs()], in_turn(batches)
        return lambda: session.run(names, next(turn))

    def by_binding(self, session, batches, outputs):
        def bound(batch):
            binding = session.io_binding()
            for name, array in batch.items():
                binding.bind_cpu_input(name, array)
            for name, array in outputs.items():
                binding.bind_output(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
            return binding

        # The arrays have to stay as long as what is bound to them.
        self.kept, turn = (batches, outputs), in_turn([bound(batch) for batch in batches])
        return lambda: session.run_with_iobinding(next(turn))


def in_turn(things):
    while True:
        yield from things


serve(OnnxRuntime)
