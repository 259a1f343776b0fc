"""Runs within the interpreter: what they return, what they refuse, and how they end."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import proctor
from support import InFolder, needs_numpy, numpy


class Results(InFolder):
    def test_a_run_is_valid_and_has_its_values(self):
        result = self.run_virtually(mode="performance", options={"mock": {"service": "fixed"}}, batch_size=8)
        self.assertTrue(result.valid)
        self.assertIs(result.verdict, proctor.Verdict.VALID)
        self.assertEqual(result.folder, self.place())
        self.assertEqual((result.plugin, result.scenario, result.benchmark), ("mock", "Offline", "digits-lstm"))
        self.assertGreater(result.metric.value, 0)
        self.assertEqual(result.settings["batch_size"], 8)
        self.assertIsNone(result.accuracy)
        self.assertIn("min_duration", [finding.rule for finding in result.findings])
        self.assertFalse(any(finding.is_broken for finding in result.findings))
        self.assertIn("verdict", str(result))
        self.assertIn("VALID", repr(result))

    def test_the_accuracy_is_a_value(self):
        result = proctor.run(
            benchmark="digits-lstm", mode="accuracy", progress=False, output_folder=self.place(), noise=False
        )
        self.assertEqual(result.accuracy.metric, "top1")
        self.assertTrue(result.accuracy.passed)
        self.assertTrue(result)
        self.assertIsNone(result.metric)

    def test_an_invalid_run_is_a_result(self):
        result = self.run_virtually(mode="performance", min_query_count=10, max_query_count=5, scenario="Server")
        self.assertFalse(result.valid)
        self.assertFalse(result)
        broken = [finding for finding in result.findings if finding.is_broken]
        self.assertTrue(broken and result.reasons)
        self.assertTrue(all(finding.text for finding in broken))
        self.assertIn("INVALID", repr(result))

    def test_the_page_is_written(self):
        result = self.run_virtually()
        path = result.report()
        self.assertEqual(path, os.path.join(self.place(), "report.html"))
        with open(path, encoding="utf-8") as page:
            self.assertIn("<html", page.read(2000))
        other = result.report(self.place("other.html"))
        self.assertTrue(os.path.isfile(other))

    def test_html_is_escaped(self):
        result = self.run_virtually()
        result.json["plugin"]["name"] = "<script>"
        page = result._repr_html_()
        self.assertNotIn("<script>", page)
        self.assertIn("&lt;script&gt;", page)

    def test_many_runs_fit_into_a_process(self):
        threads = threading.active_count()
        for number in range(12):
            result = self.run_virtually(f"run-{number}", mode="performance")
            self.assertTrue(result.valid)
        self.assertEqual(threading.active_count(), threads)
        self.assertEqual(native_names(), [])

    def test_a_result_is_loaded_again(self):
        made = self.run_virtually()
        loaded = proctor.load(self.place())
        self.assertEqual(loaded.json, made.json)
        self.assertIsInstance(loaded, proctor.Result)


class Refusals(InFolder):
    def refused(self, kind, **settings):
        with self.assertRaises(kind) as caught:
            self.run_virtually(**settings)
        self.assertIsInstance(caught.exception, proctor.Error)
        return str(caught.exception)

    def test_a_setting_that_is_not_there(self):
        self.assertIn("did you mean", self.refused(proctor.SettingsError, batch_szie=8))

    def test_a_value_that_cannot_be(self):
        self.assertIn("batch_size", self.refused(proctor.SettingsError, batch_size="many"))
        self.assertIn("no value", self.refused(proctor.SettingsError, batch_size=object()))

    def test_settings_are_values_that_are_wrong(self):
        with self.assertRaises(ValueError):
            self.run_virtually(scenario="Sometimes")

    def test_options(self):
        self.assertIn("sigam", self.refused(proctor.SettingsError, options={"mock": {"sigam": 1}}))
        self.assertIn("by its name", self.refused(proctor.SettingsError, options={"sigma": 1}))
        self.assertIn("give a dictionary", self.refused(proctor.SettingsError, options="mock"))

    def test_a_plugin_that_is_not_there(self):
        text = self.refused(proctor.PluginError, plugin="no-such-plugin")
        self.assertIn("found no plugin", text)
        self.assertIn("no plugin", self.refused(proctor.SettingsError, plugin=3))

    def test_data_that_are_not_there(self):
        self.refused(proctor.DataError, data_root=self.folder)

    def test_another_engine_has_a_process_of_its_own(self):
        text = self.refused(proctor.SettingsError, engine="official", virtual_time=False)
        self.assertIn("python -m proctor run", text)

    def test_a_folder_that_is_taken(self):
        os.mkdir(self.place())
        with open(os.path.join(self.place(), "file"), "w"):
            pass
        self.assertIn("not empty", self.refused(proctor.OutputError))

    def test_the_interpreter_stays_usable(self):
        self.refused(proctor.SettingsError, batch_szie=8)
        self.refused(proctor.PluginError, plugin="no-such-plugin")
        self.assertTrue(self.run_virtually().valid)

    def test_damaged_results_are_refused(self):
        made = self.run_virtually(mode="performance")
        path = os.path.join(made.folder, "result.json")
        with open(path, "rb") as file:
            whole = file.read()
        for content in (b"", b"{", whole[: len(whole) // 2], b'{"schema_version": 99}', b"\xff\xfe"):
            with open(path, "wb") as file:
                file.write(content)
            with self.assertRaises(proctor.DataError):
                proctor.load(made.folder)
        os.remove(path)
        with self.assertRaises(proctor.DataError):
            proctor.load(made.folder)
        with self.assertRaises(proctor.DataError):
            proctor.load(self.place("nowhere"))


class Progress(InFolder):
    def test_events_are_those_of_the_program(self):
        events = []
        self.run_virtually(mode="performance", progress=events.append)
        names = [event["event"] for event in events]
        self.assertEqual([name for name in names if name.startswith("test_")], ["test_begins", "test_ends"])
        verdict = next(event for event in events if event["event"] == "verdict")
        self.assertEqual((verdict["valid"], verdict["folder"]), (True, self.place()))

    def test_lines_go_to_stderr_of_python(self):
        told = io.StringIO()
        with contextlib.redirect_stderr(told):
            self.run_virtually(mode="performance", progress=True, server_target_qps=15)
        self.assertIn("warning: ", told.getvalue())
        self.assertNotIn("\x1b", told.getvalue())

    def test_no_progress_is_silent(self):
        code = (
            "import proctor, sys\n"
            "proctor.run(plugin='mock', virtual_time=True, scenario='Offline', progress=False,\n"
            "            server_target_qps=15, output_folder=sys.argv[1])\n"
        )
        ended = subprocess.run([sys.executable, "-c", code, self.place()], capture_output=True, check=True)
        self.assertEqual((ended.stdout, ended.stderr), (b"", b""))

    def test_a_function_that_raises_ends_the_run(self):
        def raises(event):
            raise LookupError("enough")

        with self.assertRaisesRegex(LookupError, "enough"):
            proctor.run(plugin="null", scenario="Offline", duration=30, progress=raises, output_folder=self.place())
        self.assertTrue(self.run_virtually("next").valid)


class CtrlC(InFolder):
    def long_run(self, **settings):
        given = {"plugin": "mock", "scenario": "Server", "target_qps": 100, "mode": "performance", **settings}
        return proctor.run(duration=60, progress=self.seen, output_folder=self.place(), **given)

    def setUp(self):
        super().setUp()
        self.kills = 1
        self.before = signal.getsignal(signal.SIGINT)

    def seen(self, event):
        if event["event"] == "test_begins" and self.kills:
            self.kills -= 1
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()

    def test_the_run_ends_early_and_is_kept(self):
        began = time.monotonic()
        with self.assertRaises(proctor.Interrupted) as caught:
            self.long_run()
        self.assertLess(time.monotonic() - began, 30)
        error = caught.exception
        self.assertIsInstance(error, KeyboardInterrupt)
        self.assertFalse(error.result.valid)
        self.assertTrue(error.result.interrupted)
        self.assertEqual(error.result.folder, self.place())
        self.assertIs(signal.getsignal(signal.SIGINT), self.before)
        self.assertTrue(self.run_virtually("next").valid)

    def test_other_handlers_of_python_are_obeyed(self):
        def handler(number, frame):
            raise LookupError("mine")

        signal.signal(signal.SIGINT, handler)
        self.addCleanup(signal.signal, signal.SIGINT, self.before)
        with self.assertRaisesRegex(LookupError, "mine"):
            self.long_run()
        self.assertIs(signal.getsignal(signal.SIGINT), handler)
        self.assertTrue(proctor.load(self.place()).interrupted)

    def test_the_terminal_of_the_interpreter_is_its_own(self):
        # A Ctrl-C after the run is one for the caller.
        self.run_virtually(mode="performance")
        with self.assertRaises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)

    @needs_numpy
    def test_the_interpreter_ends_after_a_load_was_left_behind(self):
        code = (
            "import os, signal, sys, time, proctor\n"
            "@proctor.backend(name='slow', models='*')\n"
            "class Slow:\n"
            "    def load(self, model):\n"
            "        os.kill(os.getpid(), signal.SIGINT)\n"
            "        for _ in range(400):\n"
            "            time.sleep(0.01)\n"
            "    def execute(self, batch):\n"
            "        pass\n"
            "try:\n"
            "    proctor.run(plugin=Slow, scenario='Offline', progress=False, noise=False, output_folder=sys.argv[1])\n"
            "except proctor.Interrupted:\n"
            "    print('interrupted', flush=True)\n"
        )
        ended = subprocess.run([sys.executable, "-c", code, self.place()], capture_output=True)
        self.assertEqual((ended.returncode, ended.stdout), (0, b"interrupted\n"), ended.stderr)

    @needs_numpy
    def test_the_interpreter_ends_after_a_run_was_given_up(self):
        code = (
            "import os, signal, sys, threading, time, numpy, proctor\n"
            "@proctor.backend(name='slow', models='*')\n"
            "class Slow:\n"
            "    count = 0\n"
            "    def issue(self, query):\n"
            "        Slow.count += 1\n"
            "        if Slow.count in (200, 260):\n"
            "            os.kill(os.getpid(), signal.SIGINT)\n"
            "        time.sleep(0.005)\n"
            "        query.complete(numpy.zeros((len(query), 10), 'f4'))\n"
            "try:\n"
            "    proctor.run(plugin=Slow, scenario='Server', target_qps=5000, duration=1, mode='performance',\n"
            "                progress=False, noise=False, output_folder=sys.argv[1])\n"
            "except proctor.Interrupted as error:\n"
            "    print(error.result.valid, flush=True)\n"
        )
        ended = subprocess.run([sys.executable, "-c", code, self.place()], capture_output=True)
        self.assertEqual((ended.returncode, ended.stdout), (0, b"False\n"), ended.stderr)

    def test_a_search_is_interrupted_and_kept(self):
        lines = []

        def seen(event):
            # After the first probe, in the second.
            lines.append(event)
            answers = [line for line in lines if line["event"] == "answer"]
            if event["event"] == "test_begins" and len(answers) > 1 and self.kills:
                self.kills -= 1
                os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(proctor.Interrupted) as caught:
            proctor.find_max(
                plugin="mock", options={"mock": {"service": "fixed", "service_us": 1000}}, target_qps=300,
                progress=seen, output_folder=self.place(), noise=False,
            )
        self.assertIsNone(caught.exception.result)
        self.assertTrue(os.path.isfile(os.path.join(caught.exception.folder, "probes.json")))
        self.assertEqual(native_names(), [])


class Turns(InFolder):
    def test_a_second_run_is_refused_at_once(self):
        began, stops = threading.Event(), []

        def seen(event):
            began.set()
            if stops:
                raise stops[0]

        def first():
            with contextlib.suppress(LookupError):
                proctor.run(
                    plugin="mock", scenario="Server", target_qps=100, mode="performance", duration=60,
                    progress=seen, output_folder=self.place("first"),
                )

        thread = threading.Thread(target=first)
        thread.start()
        self.assertTrue(began.wait(30))
        with self.assertRaisesRegex(proctor.BusyError, "one run or test at a time"):
            self.run_virtually("second")
        stops.append(LookupError("enough"))
        thread.join(30)
        self.assertFalse(thread.is_alive())
        self.assertTrue(self.run_virtually("third").valid)

    @needs_numpy
    def test_a_run_that_is_refused_leaves_the_class_of_the_other_alone(self):
        began, may_end = threading.Event(), threading.Event()

        def made(name):
            @proctor.backend(name=name, models="*")
            class Made:
                def execute(self, batch):
                    began.set()
                    may_end.wait(30)
                    output = batch.model.outputs[0]
                    return numpy.zeros((len(batch), *output.shape), output.dtype)

            return Made

        given = {"scenario": "SingleStream", "mode": "performance", "duration": 0.1, "progress": False, "noise": False}
        results = []
        first = threading.Thread(
            target=lambda: results.append(proctor.run(plugin=made("first"), output_folder=self.place("first"), **given))
        )
        first.start()
        self.assertTrue(began.wait(30))
        try:
            with self.assertRaises(proctor.BusyError):
                proctor.run(plugin=made("second"), output_folder=self.place("second"), **given)
            with self.assertRaises(proctor.BusyError):
                proctor.Plugin(made("third")).model(benchmark="digits-lstm")
        finally:
            may_end.set()
            first.join(60)
        self.assertEqual(results[0].plugin, "first")
        # The plugin stands for the class that was chosen last.
        self.assertEqual(proctor.run(plugin="python", output_folder=self.place("last"), **given).plugin, "first")

    @needs_numpy
    def test_the_interpreter_ends_while_a_thread_runs(self):
        code = (
            "import sys, threading, numpy, proctor\n"
            "began = threading.Event()\n"
            "@proctor.backend(name='ends', models='*')\n"
            "class Ends:\n"
            "    def execute(self, batch):\n"
            "        began.set()\n"
            "        output = batch.model.outputs[0]\n"
            "        return numpy.zeros((len(batch), *output.shape), output.dtype)\n"
            "def run():\n"
            "    proctor.run(plugin=Ends, scenario='SingleStream', mode='performance', duration=60,\n"
            "                progress=False, noise=False, output_folder=sys.argv[1])\n"
            "threading.Thread(target=run, daemon=True).start()\n"
            "assert began.wait(60)\n"
        )
        ended = subprocess.run([sys.executable, "-c", code, self.place()], capture_output=True, text=True, timeout=120)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertNotIn("Fatal", ended.stderr)

    def test_the_lock_of_the_interpreter_is_free(self):
        counted = 0
        done = threading.Event()

        def count():
            nonlocal counted
            while not done.is_set():
                counted += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        proctor.run(plugin="null", scenario="SingleStream", mode="performance", duration=0.5, progress=False,
                    output_folder=self.place(), noise=False, floor=False)
        done.set()
        thread.join()
        self.assertGreater(counted, 20)

    def test_a_copy_of_the_process_has_its_own_turn(self):
        code = (
            "import os, sys, proctor\n"
            "def run(name):\n"
            "    return proctor.run(plugin='mock', virtual_time=True, scenario='Offline', progress=False,\n"
            "                       mode='performance', output_folder=os.path.join(sys.argv[1], name))\n"
            "assert run('a').valid\n"
            "copy = os.fork()\n"
            "if copy == 0:\n"
            "    os._exit(0 if run('b').valid else 9)\n"
            "_, status = os.waitpid(copy, 0)\n"
            "assert status == 0, status\n"
        )
        subprocess.run([sys.executable, "-c", code, self.folder], check=True, timeout=120)


class Handlers(InFolder):
    def test_a_crash_after_a_run_is_the_interpreters_own(self):
        code = (
            "import ctypes, faulthandler, os, sys, proctor\n"
            "faulthandler.enable()\n"
            "proctor.run(plugin='mock', virtual_time=True, scenario='Offline', progress=False,\n"
            "            mode='performance', output_folder=sys.argv[1])\n"
            "ctypes.string_at(0)\n"
        )
        ended = subprocess.run([sys.executable, "-c", code, self.place()], capture_output=True, text=True)
        self.assertEqual(ended.returncode, -signal.SIGSEGV, ended.stderr)
        self.assertIn("Fatal Python error", ended.stderr)
        self.assertNotIn("plugin", ended.stderr)

    def hangs(self, code):
        """Returns the lines of a script that runs a plugin whose ``open`` does not return, by ``run(...)``."""
        faulty = os.environ.get("FAULTY_PLUGIN")
        if not faulty:
            self.skipTest("no plugin that hangs")
        start = (
            "import os, signal, sys, threading, time, proctor\n"
            "def run(**settings):\n"
            "    options = {'faulty': {'fault': 'open-hang'}}\n"
            "    proctor.run(plugin=sys.argv[2], benchmark='digits-lstm', progress=False, options=options,\n"
            "                output_folder=sys.argv[1], **settings)\n"
        )
        words = [sys.executable, "-c", start + code, self.place(), faulty]
        ended = subprocess.run(words, capture_output=True, text=True, timeout=120)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout.splitlines()

    def test_a_hang_is_an_error_and_the_interpreter_goes_on(self):
        lines = self.hangs(
            "try:\n"
            "    run(watchdog_ms=1000)\n"
            "except proctor.PluginError as error:\n"
            "    print(error)\n"
            "try:\n"
            "    proctor.run(plugin='mock', progress=False)\n"
            "except proctor.BusyError as error:\n"
            "    print(error)\n"
        )
        self.assertIn("did not return", lines[0])
        self.assertIn("one run or test at a time", lines[-1])

    def test_a_load_that_hangs_is_given_up_at_ctrl_c(self):
        lines = self.hangs(
            "threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
            "try:\n"
            "    run(watchdog_ms=100000)\n"
            "except KeyboardInterrupt as error:\n"
            "    print(type(error).__name__, error, error.result)\n"
        )
        self.assertEqual(lines, ["Interrupted interrupted while loading None"])


def native_names():
    """Returns the threads of a run that are left; they may take a moment to end."""
    for _ in range(50):
        names = [name for name in native_threads() if name in ("watchdog", "proctor", "progress", "ctrl-c")]
        if not names:
            break
        time.sleep(0.1)
    return names


def native_threads():
    """Returns the names of all threads of the process."""
    names = []
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{thread}/comm") as file:
            names.append(file.read().strip())
    return names


if __name__ == "__main__":
    unittest.main()
