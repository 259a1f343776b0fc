# Runs one inference system on single recurrent layers, for `host bench rnn`. It comes after worker.py.
#
# The first argument is JSON: {"system", "threads", "cpus"}. Requests are `load`, `measure` and `unload`, see request.rs.
# Tensors are files of little-endian f32 in the folder of the case.


class OnnxRuntime:
    """The package onnxruntime: one session, buffers bound ahead, so that a call carries the least Python work."""

    def __init__(self, threads):
        import onnxruntime

        self.module, self.threads = onnxruntime, threads
        self.version = onnxruntime.__version__

    def load(self, case):
        options = self.module.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        session = self.module.InferenceSession(case.onnx, options, providers=["CPUExecutionProvider"])
        output = case.room([case.time, case.directions, case.batch, case.hidden])
        binding = session.io_binding()
        for name, values in case.inputs.items():
            binding.bind_cpu_input(name, values)
        binding.bind_output("Y", "cpu", 0, output.dtype, output.shape, output.ctypes.data)
        return lambda: session.run_with_iobinding(binding), lambda: case.time_batch_direction(output)


class OpenVino:
    """The package openvino: tensors shared, f32 asked for, which it would round to bf16 on processors that have it."""

    def __init__(self, threads):
        import openvino

        self.module, self.threads, self.core = openvino, threads, openvino.Core()
        self.version = openvino.__version__.split("-")[0]

    def load(self, case):
        config = {
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": "1",
            "INFERENCE_NUM_THREADS": str(self.threads),
            "INFERENCE_PRECISION_HINT": "f32",
        }
        request = self.core.compile_model(self.core.read_model(case.onnx), "CPU", config).create_infer_request()
        for name, values in case.inputs.items():
            request.set_tensor(name, self.module.Tensor(values, shared_memory=True))
        # The method of the class above: without the handling of arguments that the wrapper in Python adds to each call.
        plain = super(type(request), request)

        def call():
            plain.infer({}, True, False)

        return call, lambda: case.time_batch_direction(request.get_output_tensor().data)


class Torch:
    """The package torch: torch.nn.LSTM and torch.nn.GRU in inference mode, as a user would write it."""

    def __init__(self, threads):
        import torch

        self.module = torch
        torch.set_num_threads(threads)
        torch.set_num_interop_threads(1)
        self.version = torch.__version__

    def load(self, case):
        torch = self.module
        if case.kind == "gru0":
            raise NotImplementedError("torch.nn.GRU has the reset gate after the product only")
        kind = torch.nn.LSTM if case.kind == "lstm" else torch.nn.GRU
        layer = kind(case.input, case.hidden, bidirectional=case.directions == 2).eval()
        prefix = case.kind + "."
        layer.load_state_dict({name.removeprefix(prefix): torch.from_numpy(v) for name, v in case.weights().items()})
        x = torch.from_numpy(case.inputs["X"])
        states = tuple(torch.from_numpy(case.inputs[name]) for name in ("initial_h", "initial_c") if name in case.inputs)
        arguments = (x,) if not states else (x, states if case.kind == "lstm" else states[0])
        last = {}

        def call():
            with torch.inference_mode():
                last["output"] = layer(*arguments)[0]

        return call, lambda: last["output"].numpy()


class TensorFlow:
    """The package tensorflow with XLA: the input product of all steps, then a loop over them, compiled as one program.

    The weights are constants of the program, as they are in a model that is served.
    """

    def __init__(self, threads):
        # XLA says much, and looks for GPUs while it is imported.
        os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
        import tensorflow

        self.module = tensorflow
        tensorflow.config.threading.set_intra_op_parallelism_threads(threads)
        tensorflow.config.threading.set_inter_op_parallelism_threads(1)
        self.version = tensorflow.__version__

    def load(self, case):
        tf = self.module
        weights, is_lstm = case.weights(), case.kind == "lstm"
        prefix = "lstm" if is_lstm else "gru"

        def constants(suffix):
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            w, u, *biases = (weights[f"{prefix}.{name}_l0{suffix}"] for name in names)
            return [tf.constant(values) for values in (w.T.copy(), u.T.copy(), *biases)]

        def lstm_step(gates, states, u, bias):
            hidden, cell = states
            i, f, g, o = tf.split(gates + tf.matmul(hidden, u), 4, axis=1)
            cell = tf.sigmoid(f) * cell + tf.sigmoid(i) * tf.tanh(g)
            return tf.sigmoid(o) * tf.tanh(cell), cell

        def gru_step(gates, states, u, bias):
            (hidden,) = states
            products = tf.matmul(hidden, u) + bias
            gates_r, gates_z, gates_n = tf.split(gates, 3, axis=1)
            r, z, n = tf.split(products, 3, axis=1)
            z = tf.sigmoid(gates_z + z)
            n = tf.tanh(gates_n + tf.sigmoid(gates_r + r) * n)
            return (n + z * (hidden - n),)

        def gru0_step(gates, states, u, bias):
            (hidden,) = states
            r, z = tf.split(gates[:, : 2 * case.hidden] + tf.matmul(hidden, u[:, : 2 * case.hidden]), 2, axis=1)
            reset = tf.sigmoid(r) * hidden
            n = tf.tanh(gates[:, 2 * case.hidden :] + tf.matmul(reset, u[:, 2 * case.hidden :]))
            return (n + tf.sigmoid(z) * (hidden - n),)

        step = {"lstm": lstm_step, "gru": gru_step, "gru0": gru0_step}[case.kind]

        def direction(x, states, suffix):
            w, u, bias_ih, bias_hh = constants(suffix)
            # A bias that is not inside a product with the reset gate is added for all steps at once.
            bias = bias_ih if case.kind == "gru" else bias_ih + bias_hh
            rows = tf.reshape(x, (case.time * case.batch, case.input))
            gates = tf.reshape(tf.matmul(rows, w) + bias, (case.time, case.batch, -1))
            output = tf.TensorArray(tf.float32, case.time, element_shape=(case.batch, case.hidden))

            def body(done, states, output):
                at = case.time - 1 - done if suffix else done
                states = step(gates[at], states, u, bias_hh)
                return done + 1, states, output.write(at, states[0])

            return tf.while_loop(lambda done, *_: done < case.time, body, (0, states, output))[2].stack()

        def layer(x, *initial):
            def states(number):
                if initial:
                    return tuple(state[number] for state in initial)
                return tuple(tf.zeros((case.batch, case.hidden)) for _ in range(2 if is_lstm else 1))

            suffixes = ("", "_reverse")[: case.directions]
            return tf.concat([direction(x, states(n), suffix) for n, suffix in enumerate(suffixes)], axis=2)

        arguments = [tf.constant(case.inputs[name]) for name in ("X", "initial_h", "initial_c") if name in case.inputs]
        specifications = [tf.TensorSpec(argument.shape, argument.dtype) for argument in arguments]
        # Traced once, ahead: a call does not look for a signature.
        compiled = tf.function(layer, jit_compile=True).get_concrete_function(*specifications)
        last = {}

        def call():
            last["output"] = compiled(*arguments)

        return call, lambda: last["output"].numpy()


SYSTEMS = {"onnxruntime": OnnxRuntime, "openvino": OpenVino, "torch": Torch, "tensorflow": TensorFlow}


class Case:
    """A layer in a folder: its sizes, its files, its inputs by the names that ONNX gives them."""

    def __init__(self, request):
        import numpy

        self.numpy = numpy
        layer = request["layer"]
        self.folder, self.kind = request["folder"], layer["kind"]
        self.input, self.hidden, self.batch, self.time = (layer[k] for k in ("input", "hidden", "batch", "time"))
        self.directions = 2 if layer["bidirectional"] else 1
        self.onnx = self.path("layer.onnx")
        self.inputs = {"X": self.read("input.f32", [self.time, self.batch, self.input])}
        if request["has_initial_state"]:
            states = [self.directions, self.batch, self.hidden]
            self.inputs["initial_h"] = self.read("initial_hidden.f32", states)
            if self.kind == "lstm":
                self.inputs["initial_c"] = self.read("initial_cell.f32", states)

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name, shape):
        # Copied, so that it begins where a buffer of the system would.
        return self.numpy.fromfile(self.path(name), self.numpy.float32).reshape(shape).copy()

    def room(self, shape):
        return self.numpy.empty(shape, self.numpy.float32)

    def time_batch_direction(self, output):
        """[time, direction, batch, hidden] as [time, batch, direction * hidden]."""
        return self.numpy.ascontiguousarray(output.transpose(0, 2, 1, 3))

    def weights(self):
        """The tensors of the safetensors file: a length, a header in JSON, the values."""
        with open(self.path("layer.safetensors"), "rb") as file:
            data = file.read()
        start = 8 + int.from_bytes(data[:8], "little")

        def tensor(entry):
            begin, end = (start + offset for offset in entry["data_offsets"])
            return self.numpy.frombuffer(data[begin:end], self.numpy.float32).reshape(entry["shape"]).copy()

        return {name: tensor(entry) for name, entry in json.loads(data[8:start]).items()}


class Worker:
    """Answers requests; holds one layer at a time."""

    def __init__(self, system):
        self.system, self.version = system, system.version
        self.unload()

    def unload(self):
        self.case, self.call, self.output = None, None, None

    def answer(self, request):
        if request["do"] == "load":
            self.unload()
            case = Case(request)
            begin = time.perf_counter()
            call, output = self.system.load(case)
            call()
            load_ms = (time.perf_counter() - begin) * 1e3
            output().astype(case.numpy.float32).tofile(case.path("output.f32"))
            # The output, too: its buffer may be where the system writes to.
            self.case, self.call, self.output = case, call, output
            return {"load_ms": load_ms}
        if request["do"] == "measure":
            write_times(self.case.folder, times_ns(request["window"], self.call))
            return {}
        self.unload()
        return {}


serve(lambda spec: Worker(SYSTEMS[spec["system"]](spec["threads"])))
