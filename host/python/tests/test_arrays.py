"""Samples, data sets and plugins by hand, as arrays."""

import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import proctor
from support import InFolder, needs_numpy, numpy, without


@needs_numpy
class Samples(InFolder):
    def test_the_samples_of_a_run_are_a_view_of_their_file(self):
        result = self.run_virtually(scenario="Server", mode="performance", options={"mock": {"service": "fixed"}})
        samples = result.samples()
        self.assertIsInstance(samples, numpy.memmap)
        self.assertEqual(samples.dtype.names, ("scheduled_ns", "latency_ns"))
        self.assertEqual(len(samples), result.json["performance_run"]["issued_sample_count"])
        self.assertTrue((numpy.diff(samples["scheduled_ns"].astype("i8")) >= 0).all())
        with self.assertRaises(ValueError):
            samples["latency_ns"][0] = 1
        latency = result.json["performance_run"]["figures"]["sample_latency"]
        self.assertEqual(result.latencies().max(), latency["max_ns"])

    def test_failed_and_missing_samples_are_told_apart(self):
        samples = numpy.array(
            [(0, 5), (1, 5 | proctor.samples.FAILED_BIT), (2, proctor.samples.NEVER)],
            [("scheduled_ns", "<u8"), ("latency_ns", "<u8")],
        )
        self.assertEqual(proctor.samples.answered(samples).tolist(), [True, False, False])
        self.assertEqual(proctor.samples.failed(samples).tolist(), [False, True, False])
        self.assertEqual(proctor.samples.completed(samples).tolist(), [True, True, False])

    def test_the_accuracy_run_has_samples_too(self):
        result = self.run_virtually()
        self.assertEqual(len(result.samples("accuracy")), 600)
        with self.assertRaises(ValueError):
            result.samples("both")

    def test_ten_million_samples_take_no_time(self):
        result = self.run_virtually(mode="performance")
        path = os.path.join(result.folder, "samples.bin")
        os.truncate(path, 16 * 10_000_000 + 3)
        # Time of this thread alone: other work on the machine does not count.
        began = time.thread_time()
        samples = result.samples()
        took = time.thread_time() - began
        self.assertEqual(len(samples), 10_000_000)
        self.assertLess(took, 0.1)

    def test_a_file_that_is_gone_or_empty(self):
        result = self.run_virtually(mode="performance")
        path = os.path.join(result.folder, "samples.bin")
        os.truncate(path, 0)
        self.assertEqual(len(result.samples()), 0)
        os.remove(path)
        with self.assertRaises(proctor.DataError):
            result.samples()


@needs_numpy
class Data(unittest.TestCase):
    def test_the_digits_are_arrays(self):
        data = proctor.data("digits-lstm")
        self.assertEqual((len(data), data.name), (600, "digits"))
        spec = data.inputs[0]
        sample = data[3]
        self.assertEqual(list(sample), [spec.name])
        self.assertEqual((sample[spec.name].shape, sample[spec.name].dtype), (spec.shape, numpy.dtype("f4")))
        stacked = data.stack(range(5))[spec.name]
        self.assertEqual(stacked.shape, (5, *spec.shape))
        self.assertTrue((stacked[3] == sample[spec.name]).all())
        self.assertTrue((data[-1][spec.name] == data[599][spec.name]).all())
        with self.assertRaises(IndexError):
            data[600]
        self.assertEqual(data.stack([])[spec.name].shape, (0, *spec.shape))
        self.assertTrue((data[numpy.int64(3)][spec.name] == sample[spec.name]).all())
        with self.assertRaises(TypeError):
            data[3.5]

    def test_labels_are_classes(self):
        labels = proctor.data("digits-lstm").labels()
        self.assertEqual((labels.shape, labels.min(), labels.max()), ((600,), 0, 9))

    def test_a_benchmark_that_is_not_there(self):
        with self.assertRaises(proctor.SettingsError):
            proctor.data("digits-ltsm")


#: A benchmark whose samples vary in shape, and have values of four bits.
PACKED = """
schema_version = 1
id = "packed"
task = "text generation"
description = "Values of four bits."
dataset = "generated"
preprocessing = "copy"
[model]
id = "packed"
[model.files.onnx]
path = "none.onnx"
sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
[[inputs]]
name = "nibbles"
element_type = "u4"
shape = [64]
varies = true
[[outputs]]
name = "tokens"
element_type = "i32"
shape = [32]
[quality]
metric = "tokens"
reference = 1.0
target_ratio = 0.99
answers = "shipped"
[qsl]
total_sample_count = 32
performance_sample_count = 32
[scenarios.Offline]
offline_expected_qps = 4
"""


@needs_numpy
class ByHand(InFolder):
    def test_answers_are_those_of_the_model(self):
        data = proctor.data("digits-lstm")
        inputs, labels = data.stack(range(40)), data.labels()[:40]
        with proctor.Plugin("cpu-rnn").model(benchmark="digits-lstm", precision="f32", batch_size=16) as model:
            self.assertEqual((model.plugin, model.precision, model.batch_size), ("cpu-rnn", "f32", 16))
            scores = model.execute(inputs)[model.outputs[0].name]
            # An array alone is the only input.
            again = model.execute(inputs[model.inputs[0].name])[model.outputs[0].name]
            self.assertIn("cpu-rnn", repr(model))
        self.assertEqual(scores.shape, (40, *model.outputs[0].shape))
        self.assertTrue((scores == again).all())
        self.assertGreater((scores.reshape(40, -1).argmax(1) == labels).mean(), 0.9)
        with self.assertRaisesRegex(proctor.PluginError, "closed"):
            model.execute(inputs)
        model.close()

    def test_what_does_not_fit_is_refused(self):
        with proctor.Plugin("cpu-rnn").model(benchmark="digits-lstm") as model:
            spec = model.inputs[0]
            for wrong, text in [
                (numpy.zeros((2, 3), "f4"), "shape"),
                (numpy.zeros((2, *spec.shape), "c16"), "type"),
                ({"nothing": numpy.zeros(1)}, "inputs are"),
                (5, "first dimension are the samples"),
            ]:
                with self.assertRaisesRegex(proctor.SettingsError, text):
                    model.execute(wrong)
            # It goes on.
            self.assertEqual(len(model.execute(numpy.zeros((2, *spec.shape), "f4"))[model.outputs[0].name]), 2)

    def test_whole_numbers_that_do_not_fit_are_refused(self):
        @proctor.backend(name="whole", models="*", formats="none", dynamic_shapes=True)
        class Whole:
            def execute(self, batch):
                return [numpy.zeros((len(batch), *tensor.shape), tensor.dtype) for tensor in batch.model.outputs]

        with proctor.Plugin(Whole).model(benchmark="bert-base-generated") as model:
            given = {spec.name: numpy.ones((1, *spec.shape), "i8") for spec in model.inputs}
            model.execute(given)
            given["input_ids"][0, 0] = 1 << 32
            with self.assertRaisesRegex(proctor.SettingsError, "input_ids has values that i32 cannot hold"):
                model.execute(given)

    def test_no_samples_have_no_answers(self):
        with proctor.Plugin("cpu-rnn").model(benchmark="digits-lstm") as model:
            output = model.outputs[0]
            answers = model.execute(numpy.zeros((0, *model.inputs[0].shape), "f4"))[output.name]
        self.assertEqual((answers.shape, answers.dtype), ((0, *output.shape), output.dtype))

    def test_options_and_names_are_checked(self):
        with self.assertRaises(proctor.SettingsError):
            proctor.Plugin("mock", sigam=1).model(benchmark="digits-lstm")
        with self.assertRaises(proctor.PluginError):
            proctor.Plugin("no-such-plugin").model(benchmark="digits-lstm")

    def test_a_class_takes_options_by_the_name_of_its_manifest(self):
        @proctor.backend(name="scaled", models="*", options={"factor": 1.0})
        class Scaled:
            def load(self, model):
                self.factor = model.options["factor"]

            def execute(self, batch):
                output = batch.model.outputs[0]
                return numpy.full((len(batch), *output.shape), self.factor, output.dtype)

        with proctor.Plugin(Scaled, factor=2.5).model(benchmark="digits-lstm") as model:
            answers = model.execute(proctor.data("digits-lstm").stack(range(2)))
        self.assertEqual(model.plugin, "scaled")
        self.assertTrue((answers[model.outputs[0].name] == 2.5).all())

    def test_a_call_that_hangs_is_left_behind_by_timeout_or_ctrl_c(self):
        is_left, has_ended = threading.Semaphore(0), threading.Semaphore(0)

        @proctor.backend(name="slow", models="*", options={"interrupts": False})
        class Slow:
            def load(self, model):
                self.interrupts = model.options["interrupts"]

            def execute(self, batch):
                if batch.inputs["image"].max() > 0:
                    if self.interrupts:
                        os.kill(os.getpid(), signal.SIGINT)
                    is_left.acquire(timeout=60)
                    has_ended.release()
                return numpy.zeros((len(batch), 10), "f4")

        zeros = numpy.zeros((1, 8, 8), "f4")
        for timeout, error in [(0.2, proctor.PluginError), (None, KeyboardInterrupt)]:
            model = proctor.Plugin(Slow, interrupts=timeout is None).model(benchmark="digits-lstm")
            self.assertEqual(model.execute(zeros, timeout=60)["logits"].shape, (1, 10))
            with self.assertRaises(proctor.SettingsError):
                model.execute(zeros, timeout=-1)
            with self.assertRaisesRegex(error, "within the timeout of 0.2 s" if timeout else ""):
                model.execute(zeros + 1, timeout=timeout)
            with self.assertRaisesRegex(proctor.PluginError, "closed"):
                model.execute(zeros)
            model.close()
            # The interpreter must not end before the call that was left behind.
            is_left.release()
            self.assertTrue(has_ended.acquire(timeout=60))

    def test_an_output_that_is_not_written_is_zero(self):
        @proctor.backend(name="lazy", models="*")
        class Lazy:
            def execute(self, batch):
                batch.outputs["logits"][batch.inputs["image"].max(axis=(1, 2)) > 0] = 1

        with proctor.Plugin(Lazy).model(benchmark="digits-lstm", batch_size=4) as model:
            ones = numpy.ones((4, 8, 8), "f4")
            self.assertTrue((model.execute(ones)["logits"] == 1).all())
            ones[1:] = 0
            self.assertEqual(model.execute(ones)["logits"].sum(axis=1).tolist(), [10, 0, 0, 0])

    def test_values_of_four_bits_in_samples_that_vary_are_refused(self):
        @proctor.backend(name="packed", models="*", formats="none", dynamic_shapes=True)
        class Packed:
            def execute(self, batch):
                pass

        path = self.place("packed.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PACKED)
        with self.assertRaisesRegex(proctor.PluginError, "nibbles u4.* less than a byte, .* bytes, which do not say"):
            proctor.Plugin(Packed).model(benchmark=path, scenario="Offline")

    def test_a_plugin_of_whole_queries_answers(self):
        with proctor.Plugin("mock", service="fixed", service_us=10).model(benchmark="digits-lstm") as model:
            zeros = numpy.zeros((3, *model.inputs[0].shape), "f4")
            self.assertEqual(len(model.execute(zeros)[model.outputs[0].name]), 3)

    def test_inputs_that_are_kept_stay_as_they_were(self):
        kept = []

        @proctor.backend(name="keeps", models="*")
        class Keeps:
            def execute(self, batch):
                kept.extend([batch.inputs["image"], *batch.views("image")])
                return numpy.zeros((len(batch), 10), "f4")

        images = numpy.arange(3 * 64, dtype="f4").reshape(3, 8, 8)
        with proctor.Plugin(Keeps).model(benchmark="digits-lstm", batch_size=3) as model:
            for factor in (1, 2, 3):
                model.execute(images * factor)
        for factor, (whole, *each) in zip((1, 2, 3), (kept[:4], kept[4:8], kept[8:])):
            self.assertTrue((whole == images * factor).all())
            self.assertTrue((numpy.stack(each) == images * factor).all())

    def test_samples_of_a_query_are_completed_by_whole_positions(self):
        errors = []

        @proctor.backend(name="parts", models="*")
        class Parts:
            def issue(self, query):
                query.complete(numpy.zeros((0, 10), "f4"), positions=[])
                for wrong in ([0.9], "0"):
                    try:
                        query.complete(numpy.zeros((1, 10), "f4"), positions=wrong)
                    except TypeError as error:
                        errors.append(error)
                for position in numpy.arange(len(query)):
                    query.complete(numpy.full((1, 10), position, "f4"), positions=[position])

        with proctor.Plugin(Parts).model(benchmark="digits-lstm") as model:
            answers = model.execute(numpy.zeros((3, 8, 8), "f4"))["logits"]
        self.assertEqual(answers[:, 0].tolist(), [0, 1, 2])
        self.assertEqual(len(errors), 2)

    def test_a_late_answer_is_none_of_the_next_call(self):
        held = []

        @proctor.backend(name="late", models="*")
        class Late:
            def issue(self, query):
                held.append(query)
                if len(held) == 2:
                    held[0].complete(numpy.zeros((1, 10), "f4"))
                    time.sleep(0.2)
                    query.complete(numpy.ones((1, 10), "f4"))

        zeros = numpy.zeros((1, 8, 8), "f4")
        with proctor.Plugin(Late).model(benchmark="digits-lstm", watchdog_ms=1000) as model:
            with self.assertRaisesRegex(proctor.PluginError, "did not complete 1 of 1 samples"):
                model.execute(zeros)
            self.assertTrue((model.execute(zeros)["logits"] == 1).all())

    def test_the_interpreter_ends_while_a_model_works(self):
        code = (
            "import threading, time, numpy, proctor\n"
            "began = threading.Event()\n"
            "@proctor.backend(name='ends', models='*')\n"
            "class Ends:\n"
            "    def execute(self, batch):\n"
            "        began.set()\n"
            "        time.sleep(0.3)\n"
            "        return numpy.zeros((len(batch), 10), 'f4')\n"
            "    def unload(self):\n"
            "        print('unloaded', flush=True)\n"
            "model = proctor.Plugin(Ends).model(benchmark='digits-lstm')\n"
            "image = numpy.zeros((1, 8, 8), 'f4')\n"
            "threading.Thread(target=model.execute, args=(image,), daemon=True).start()\n"
            "began.wait(30)\n"
        )
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True)
        self.assertEqual((ended.returncode, ended.stdout), (0, b"unloaded\n"), ended.stderr)


class WithoutNumPy(InFolder):
    def test_only_arrays_need_it(self):
        result = self.run_virtually(mode="performance")
        self.assertTrue(result.valid)
        with without("numpy"):
            for act in (result.samples, lambda: proctor.data("digits-lstm")[0]):
                with self.assertRaisesRegex(ImportError, "pip install numpy"):
                    act()

    def test_the_package_does_not_import_it(self):
        code = "import proctor, sys; sys.exit('numpy' in sys.modules)"
        subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    unittest.main()
