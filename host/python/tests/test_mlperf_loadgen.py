"""The names of LoadGen's module: what is wrong is an exception or an INVALID run, and the interpreter goes on."""

import copy
import ctypes
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import unittest

import proctor
import proctor.mlperf_loadgen as lg
from support import InFolder


def complete(samples):
    lg.QuerySamplesComplete([lg.QuerySampleResponse(sample.id, 0, 0) for sample in samples])


def nothing(*_):
    pass


def settings(**values):
    made = lg.TestSettings()
    made.min_duration_ms = 0
    made.min_query_count = 70
    made.server_target_qps = 10000
    made.server_target_latency_ns = 10**11
    made.watchdog_ms = 20000
    for name, value in values.items():
        setattr(made, name, value)
    return made


class Case(InFolder):
    def setUp(self):
        super().setUp()
        self.enter()

    def start(self, issue=complete, flush=nothing, load=nothing, unload=nothing, total=100, **values):
        sut = lg.ConstructSUT(issue, flush)
        qsl = lg.ConstructQSL(total, min(total, 50), load, unload)
        try:
            lg.StartTest(sut, qsl, settings(**values))
        finally:
            lg.DestroySUT(sut)
            lg.DestroyQSL(qsl)

    def entries(self):
        with open("mlperf_log_detail.txt", encoding="utf-8") as file:
            lines = [json.loads(line.removeprefix(":::MLLOG ")) for line in file]
        return {line["key"]: line["value"] for line in lines}

    def assert_invalid(self, reason):
        entries = self.entries()
        self.assertEqual(entries["result_validity"], "INVALID")
        self.assertIn(reason, entries["result_invalid_reason"])

    def assert_usable(self):
        self.start()
        self.assertEqual(self.entries()["result_validity"], "VALID")


class Mistakes(Case):
    def test_a_second_completion_is_counted_and_makes_the_run_invalid(self):
        def twice(samples):
            complete(samples)
            complete(samples)

        self.start(twice)
        self.assert_invalid("complete")
        self.assert_usable()

    def test_an_unknown_id_is_counted_and_makes_the_run_invalid(self):
        def invent(samples):
            lg.QuerySamplesComplete([lg.QuerySampleResponse(id, 0, 0) for id in (0, 7, 2**63)])
            complete(samples)

        self.start(invent)
        self.assert_invalid("id")

    def test_a_completion_of_an_earlier_test_is_late(self):
        earlier = []

        def keep(samples):
            earlier.extend(samples)
            complete(samples)

        def late(samples):
            complete(earlier)
            complete(samples)

        self.start(keep)
        with self.assertRaisesRegex(RuntimeError, "no test is running"):
            complete(earlier)
        self.start(late)
        self.assert_invalid("after the end of their phase")

    def test_a_sample_that_is_never_completed_ends_the_test(self):
        self.start(nothing, watchdog_ms=200)
        self.assert_invalid("complete")
        self.assert_usable()

    def test_an_exception_in_any_callback_ends_the_test_and_is_raised(self):
        for callback in ("load", "issue", "flush", "unload"):
            for kind in (ValueError, KeyboardInterrupt, SystemExit):
                raised = kind(callback)

                def fail(*_, raised=raised):
                    raise raised

                with self.subTest(callback=callback, kind=kind), self.assertRaises(kind) as caught:
                    self.start(**{callback: fail})
                self.assertIs(caught.exception, raised)
                self.assert_usable()

    def test_an_exception_in_the_last_query_leaves_logs(self):
        queries = []

        def fail_at_last(samples):
            queries.append(samples)
            if len(queries) == 70:
                raise ZeroDivisionError("the last one")
            complete(samples)

        with self.assertRaisesRegex(ZeroDivisionError, "the last one"):
            self.start(fail_at_last)
        self.assert_invalid("issue_cb has raised ZeroDivisionError: the last one")

    def test_an_exception_in_the_name_of_a_system_is_raised(self):
        qsl = lg.ConstructQSL(10, 10, nothing, nothing)
        for name in (lambda: 1 / 0, lambda: 5):
            qdl = lg.ConstructQDL(complete, nothing, name)
            with self.assertRaises((ZeroDivisionError, TypeError)):
                lg.StartTest(qdl, qsl, settings())
        self.assert_usable()

    def test_an_exception_in_a_response_callback_is_raised_where_it_was_passed(self):
        def issue(samples):
            with self.assertRaises(ZeroDivisionError):
                responses = [lg.QuerySampleResponse(sample.id, 0, 0) for sample in samples]
                lg.QuerySamplesComplete(responses, lambda _: 1 / 0)
            complete(samples)

        self.start(issue, mode=lg.TestMode.AccuracyOnly)

    def test_an_interrupt_ends_the_waits_of_every_scenario(self):
        main = threading.main_thread().ident
        for scenario, issue in ((lg.TestScenario.SingleStream, nothing), (lg.TestScenario.Server, complete)):
            timer = threading.Timer(0.5, signal.pthread_kill, (main, signal.SIGINT))
            timer.start()
            begun = time.monotonic()
            with self.subTest(scenario=scenario), self.assertRaises(KeyboardInterrupt):
                self.start(issue, scenario=scenario, server_target_qps=0.01)
            self.assertLess(time.monotonic() - begun, 10)
            timer.join()
            self.assert_usable()

    def test_a_handler_of_a_signal_runs_while_a_test_waits(self):
        seen = []
        before = signal.signal(signal.SIGUSR1, lambda number, _: seen.append(number))
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        timer = threading.Timer(0.05, signal.raise_signal, (signal.SIGUSR1,))

        def slowly(samples):
            threading.Timer(0.4, complete, (samples,)).start()

        timer.start()
        self.start(slowly, min_query_count=1)
        self.assertEqual(seen, [signal.SIGUSR1])

    def test_handles_that_are_wrong_are_named(self):
        sut, qsl = lg.ConstructSUT(complete, nothing), lg.ConstructQSL(10, 10, nothing, nothing)
        for arguments, text in (((qsl, qsl), "query sample library"), ((sut, sut), "system under test"), ((0, qsl), "0 is no")):
            with self.subTest(text), self.assertRaisesRegex(ValueError, text):
                lg.StartTest(*arguments, settings())
        lg.DestroySUT(sut)
        for function in (lg.DestroySUT, lg.DestroyFastSUT, lg.DestroyQDL, lambda sut: lg.StartTest(sut, qsl, settings())):
            with self.assertRaisesRegex(ValueError, "destroyed"):
                function(sut)
        with self.assertRaisesRegex(ValueError, "query sample library, not"):
            lg.DestroySUT(qsl)
        lg.DestroyQSL(qsl)

    def test_a_system_that_is_destroyed_in_its_test_lives_to_the_end_of_it(self):
        sut, qsl = lg.ConstructSUT(complete, nothing), lg.ConstructQSL(10, 10, lambda _: lg.DestroySUT(sut), nothing)
        lg.StartTest(sut, qsl, settings())
        self.assertEqual(self.entries()["result_validity"], "VALID")

    def test_one_test_runs_at_a_time(self):
        errors = []

        def nested(samples):
            for other in (self.start, lambda: proctor.run(progress=False)):
                try:
                    other()
                except RuntimeError as error:
                    errors.append(str(error))
            complete(samples)

        self.start(nested, min_query_count=64)
        self.assertEqual(len(errors), 128)
        self.assertIn("one run or test at a time", errors[0])
        self.assert_usable()

    def test_a_run_is_refused_during_a_test_and_a_test_during_a_run(self):
        runs, tests = [], []

        def issue(samples):
            with self.assertRaises(proctor.BusyError) as caught:
                self.run_virtually()
            runs.append(caught.exception)
            complete(samples)

        def seen(_):
            if tests:
                return
            with self.assertRaises(proctor.BusyError) as caught:
                self.start()
            tests.append(caught.exception)

        self.start(issue, min_query_count=1)
        self.assertTrue(runs)
        self.assertTrue(proctor.run(duration=1, output_folder=self.place("other"), progress=seen).folder)
        self.assertTrue(tests)
        self.assert_usable()

    def test_what_cannot_be_run_is_refused_before_anything_is_called(self):
        def never(*_):
            raise AssertionError("called")

        for text, values in (
            ("sample", {"total": 0}),
            ("min_query_count", {"min_query_count": 0}),
            ("server_target_qps", {"scenario": lg.TestScenario.Server, "server_target_qps": -1.0}),
            ("FindPeakPerformance", {"mode": lg.TestMode.FindPeakPerformance}),
            ("server_num_issue_query_threads = 2", {"scenario": lg.TestScenario.Server, "server_num_issue_query_threads": 2}),
        ):
            with self.subTest(text), self.assertRaisesRegex(ValueError, text):
                self.start(never, never, never, never, **values)

    def test_a_folder_that_is_not_there_is_refused_before_the_test(self):
        sut, qsl = lg.ConstructSUT(nothing, nothing), lg.ConstructQSL(10, 10, nothing, nothing)
        log_settings = lg.LogSettings()
        log_settings.log_output.outdir = "nowhere"
        with self.assertRaisesRegex(FileNotFoundError, "nowhere"):
            lg.StartTestWithLogSettings(sut, qsl, settings(), log_settings)
        self.assert_usable()

    def test_names_that_are_not_there_say_why(self):
        for name, reason in (("AbortTest", "raise an exception"), ("RegisterIssueQueryThread", "StartTest"), ("Nope", "6.0.17")):
            with self.assertRaisesRegex(AttributeError, f"no {name}: .*{reason}"):
                getattr(lg, name)


class Responses(Case):
    def test_memory_is_read_only_for_the_log(self):
        def far_away(samples):
            lg.QuerySamplesComplete([lg.QuerySampleResponse(sample.id, 8, 2**40) for sample in samples])

        self.start(far_away)
        self.assertEqual(self.entries()["result_validity"], "VALID")

    def test_no_memory_where_it_has_to_be_read_is_an_error(self):
        def empty(samples):
            for address, size in ((0, 4), (2**64 - 2, 4), (8, 2**63)):
                with self.assertRaisesRegex(ValueError, "address"):
                    lg.QuerySamplesComplete([lg.QuerySampleResponse(samples[0].id, address, size)])
            complete(samples)

        self.start(empty, mode=lg.TestMode.AccuracyOnly)

    def test_data_are_logged_as_they_were_when_the_call_was_made(self):
        def answer(samples):
            buffer = ctypes.create_string_buffer(bytes([1, 2, samples[0].index, 9]))
            lg.QuerySamplesComplete([lg.QuerySampleResponse(samples[0].id, ctypes.addressof(buffer), 3)])
            ctypes.memset(buffer, 0xFF, 4)

        self.start(answer, mode=lg.TestMode.AccuracyOnly)
        with open("mlperf_log_accuracy.json", encoding="utf-8") as file:
            records = json.load(file)
        self.assertEqual(len(records), 100)
        self.assertTrue(all(record["data"] == f"0102{record['qsl_idx']:02X}" for record in records))

    def test_lists_of_every_kind_are_taken_and_others_are_not(self):
        def issue(samples):
            response = lg.QuerySampleResponse(samples[0].id, 0, 0)
            for wrong in (None, 5, [1], (response for _ in range(1)), [response, None]):
                with self.assertRaises(TypeError):
                    lg.QuerySamplesComplete(wrong)
            with self.assertRaises(TypeError):
                lg.QuerySamplesComplete([response], 3)
            lg.QuerySamplesComplete([])
            lg.QuerySamplesComplete(make([response]))

        for make in (list, tuple, lg.VectorQuerySampleResponse):
            self.start(issue, min_query_count=64)
            self.assertEqual(self.entries()["result_validity"], "VALID")

    def test_callbacks_come_on_the_thread_of_the_test_and_others_run_beside_it(self):
        threads, beats = set(), []
        is_over = threading.Event()

        def beat():
            while not is_over.wait(0.001):
                beats.append(time.monotonic())

        def slowly(samples):
            threads.add(threading.get_ident())
            threading.Timer(0.05, complete, (samples,)).start()

        heart = threading.Thread(target=beat)
        heart.start()
        test = threading.Thread(target=self.start, args=(slowly,), kwargs={"min_query_count": 5})
        test.start()
        ident = test.ident
        test.join()
        is_over.set()
        heart.join()
        self.assertEqual(threads, {ident})
        self.assertGreater(len(beats), 5)


class Values(unittest.TestCase):
    def test_enumerators_are_numbers_and_equal_only_their_like(self):
        self.assertEqual([int(scenario) for scenario in lg.TestScenario.__members__.values()], [0, 1, 2, 3])
        self.assertEqual(lg.TestScenario(2), lg.TestScenario.Server)
        self.assertNotEqual(lg.TestScenario.Server, 2)
        self.assertNotEqual(lg.TestScenario.Server, lg.TestMode.PerformanceOnly)
        self.assertEqual(str(lg.TestMode.AccuracyOnly), "TestMode.AccuracyOnly")
        self.assertEqual(repr(lg.LoggingMode.Synchronous), "<LoggingMode.Synchronous: 2>")
        self.assertEqual("abcd"[lg.TestScenario.Offline], "d")
        self.assertEqual({lg.TestScenario.Offline: 1}[lg.TestScenario(3)], 1)
        for value in (7, -1):
            with self.assertRaises((TypeError, ValueError)):
                lg.TestScenario(value)

    def test_what_is_plain_can_be_pickled_and_copied(self):
        for value, names in (
            (lg.TestMode.AccuracyOnly, ("name",)),
            (lg.QuerySample(3, 4), ("id", "index")),
            (lg.QuerySampleResponse(1, 2, 3, 4), ("id", "data", "size", "n_tokens")),
        ):
            for twin in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
                self.assertEqual([getattr(twin, name) for name in names], [getattr(value, name) for name in names])

    def test_other_types_are_refused(self):
        made = lg.TestSettings()
        for name, value in (
            ("min_query_count", 1.5),
            ("min_query_count", -1),
            ("min_query_count", 2**64),
            ("min_query_count", "3"),
            ("server_target_qps", "fast"),
            ("server_target_qps", None),
            ("server_find_peak_qps_decimals_of_precision", 2**31),
            ("scenario", 1),
            ("scenario", lg.TestMode.AccuracyOnly),
            ("test05", "yes"),
        ):
            with self.subTest(name=name, value=value), self.assertRaises(TypeError):
                setattr(made, name, value)
        with self.assertRaises(AttributeError):
            made.min_query_cout = 5
        for function, arguments in (
            (lg.QuerySample, (1,)),
            (lg.QuerySample, (1, 2, 3)),
            (lg.QuerySampleResponse, (1,)),
            (lg.QuerySampleResponse, (1, None, 3)),
            (lg.QuerySampleResponse, (1, 2, -3)),
            (lg.ConstructSUT, (1, 2)),
            (lg.ConstructSUT, (nothing,)),
            (lg.ConstructQSL, (-1, 1, nothing, nothing)),
            (lg.DestroySUT, ("1",)),
            (lg.StartTest, (1, 2, 3)),
            (made.FromConfig, (5, "m", "Server")),
        ):
            with self.subTest(function=function, arguments=arguments), self.assertRaises(TypeError):
                function(*arguments)
        made.test05 = 1
        made.server_target_qps = 3
        self.assertEqual((made.test05, made.server_target_qps), (True, 3.0))

    def test_the_destination_of_the_logs_is_one_object(self):
        log_settings, other = lg.LogSettings(), lg.LogOutputSettings()
        kept = log_settings.log_output
        kept.outdir = "first"
        self.assertEqual(log_settings.log_output.outdir, "first")
        other.outdir = "second"
        log_settings.log_output = other
        other.outdir = "third"
        self.assertEqual((kept.outdir, log_settings.log_output.outdir), ("second", "second"))
        self.assertIs(log_settings.log_output, kept)

    def test_vectors_hold_their_type_alone(self):
        vector = lg.VectorQuerySample([lg.QuerySample(1, 2)])
        vector.append(lg.QuerySample(3, 4))
        vector.extend([lg.QuerySample(5, 6)])
        vector[0].id = 9
        self.assertEqual([sample.id for sample in vector], [9, 3, 5])
        for wrong in (lambda: vector.append(1), lambda: lg.VectorQuerySample([1]), lambda: vector.extend([None])):
            with self.assertRaises(TypeError):
                wrong()
        self.assertEqual(len(vector), 3)


class Scripts(Case):
    def test_the_interpreter_may_end_while_a_daemon_thread_runs_a_test(self):
        for scenario in ("SingleStream", "Server"):
            with open("harness.py", "w", encoding="utf-8") as script:
                script.write(
                    "import threading, time\nimport proctor.mlperf_loadgen as lg\n"
                    "def complete(samples):\n"
                    "    lg.QuerySamplesComplete([lg.QuerySampleResponse(s.id, 0, 0) for s in samples])\n"
                    "def later(samples):\n"
                    "    time.sleep(0.001)\n"
                    "    complete(samples)\n"
                    "begun = threading.Event()\n"
                    "def issue(samples):\n"
                    "    begun.set()\n"
                    "    threading.Thread(target=later, args=(samples,), daemon=True).start()\n"
                    "settings = lg.TestSettings()\n"
                    f"settings.scenario = lg.TestScenario.{scenario}\n"
                    "settings.server_target_qps = 500\n"
                    "sut = lg.ConstructSUT(issue, lambda: None)\n"
                    "qsl = lg.ConstructQSL(10, 10, lambda _: None, lambda _: None)\n"
                    "threading.Thread(target=lg.StartTest, args=(sut, qsl, settings), daemon=True).start()\n"
                    "begun.wait()\n"
                    "time.sleep(0.2)\n"
                )
            for _ in range(5):
                finished = subprocess.run([sys.executable, "harness.py"], capture_output=True, text=True)
                self.assertEqual(finished.returncode, 0, finished.stderr)
                self.assert_invalid("the interpreter ends")

    def test_a_script_for_the_official_module_runs_as_it_is(self):
        with open("harness.py", "w", encoding="utf-8") as script:
            script.write(
                "import sys\nimport mlperf_loadgen\n"
                "settings = mlperf_loadgen.TestSettings()\n"
                "settings.min_query_count, settings.min_duration_ms = 70, 0\n"
                "def issue(samples):\n"
                "    responses = [mlperf_loadgen.QuerySampleResponse(s.id, 0, 0) for s in samples]\n"
                "    mlperf_loadgen.QuerySamplesComplete(responses)\n"
                "sut = mlperf_loadgen.ConstructSUT(issue, lambda: None)\n"
                "qsl = mlperf_loadgen.ConstructQSL(10, 10, lambda _: None, lambda _: None)\n"
                "mlperf_loadgen.StartTest(sut, qsl, settings)\n"
                "print(__name__, sys.argv)\n"
            )
        command = [sys.executable, "-m", "proctor.mlperf_loadgen", "harness.py", "--flag"]
        finished = subprocess.run(command, capture_output=True, text=True, check=True)
        self.assertEqual(finished.stdout, "__main__ ['harness.py', '--flag']\n")
        self.assertEqual(self.entries()["result_validity"], "VALID")

    def test_an_exception_of_a_script_is_its_exit_code(self):
        with open("harness.py", "w", encoding="utf-8") as script:
            script.write("import mlperf_loadgen\nmlperf_loadgen.DestroySUT(5)\n")
        command = [sys.executable, "-m", "proctor.mlperf_loadgen", "harness.py"]
        finished = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(finished.returncode, 1)
        self.assertIn("5 is no system under test", finished.stderr)

    @unittest.skipIf(sys.version_info < (3, 11), "no PYTHONSAFEPATH")
    def test_a_script_finds_the_modules_of_the_search_path(self):
        os.mkdir("modules")
        with open("modules/neighbour.py", "w", encoding="utf-8") as module:
            module.write("NAME = 'found'\n")
        with open("harness.py", "w", encoding="utf-8") as script:
            script.write("import neighbour\nprint(neighbour.NAME)\n")
        paths = [os.path.abspath("modules"), *filter(None, [os.environ.get("PYTHONPATH")])]
        variables = {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(paths)}
        command = [sys.executable, "-m", "proctor.mlperf_loadgen", "harness.py"]
        finished = subprocess.run(command, capture_output=True, text=True, env=variables)
        self.assertEqual(finished.stdout, "found\n", finished.stderr)


if __name__ == "__main__":
    unittest.main()
