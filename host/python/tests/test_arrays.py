"""Samples, data sets and plugins by hand, as arrays."""

import os
import subprocess
import sys
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

    def test_labels_are_classes(self):
        labels = proctor.data("digits-lstm").labels()
        self.assertEqual((labels.shape, labels.min(), labels.max()), ((600,), 0, 9))

    def test_a_benchmark_that_is_not_there(self):
        with self.assertRaises(proctor.SettingsError):
            proctor.data("digits-ltsm")


@needs_numpy
class ByHand(unittest.TestCase):
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
            ]:
                with self.assertRaisesRegex(proctor.SettingsError, text):
                    model.execute(wrong)
            # It goes on.
            self.assertEqual(len(model.execute(numpy.zeros((2, *spec.shape), "f4"))[model.outputs[0].name]), 2)

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

    def test_a_plugin_of_whole_queries_answers(self):
        with proctor.Plugin("mock", service="fixed", service_us=10).model(benchmark="digits-lstm") as model:
            zeros = numpy.zeros((3, *model.inputs[0].shape), "f4")
            self.assertEqual(len(model.execute(zeros)[model.outputs[0].name]), 3)


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
