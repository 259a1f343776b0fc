"""Searches, scaling and comparisons."""

import unittest

import proctor
from support import InFolder

FIXED = {"mock": {"service": "fixed", "service_us": 1000}}


class Campaigns(InFolder):
    def test_a_search_finds_the_highest_load(self):
        lines = []
        result = proctor.find_max(
            plugin="mock", virtual_time=True, options=FIXED, target_qps=100, resolution=0.05, confirm_runs=1,
            progress=lines.append, output_folder=self.place(),
        )
        self.assertIsInstance(result, proctor.FindMaxResult)
        self.assertTrue(result)
        self.assertTrue(100 < result.load < 1100, result.load)
        self.assertTrue(result.curve and result.full_runs[0].valid)
        self.assertTrue(any(event["event"] == "answer" for event in lines))
        self.assertEqual(proctor.load(self.place()).load, result.load)
        self.assertIn("load", result._repr_html_())
        self.assertTrue(result.report().endswith("report.html"))

    def test_a_search_refuses_what_the_program_refuses(self):
        with self.assertRaisesRegex(proctor.SettingsError, "0.5"):
            proctor.find_max(plugin="mock", resolution=2, progress=False)
        with self.assertRaisesRegex(proctor.SettingsError, "no duration"):
            proctor.find_max(plugin="mock", scenario="MultiStream", latency_bound=float("nan"), progress=False)
        with self.assertRaises(proctor.SettingsError):
            proctor.find_max(plugin="mock", scenario="Offline", progress=False, output_folder=self.place())

    def test_scaling_has_a_course_for_each_policy(self):
        options = {"mock": {"service": "fixed", "service_us": 4000, "per_sample_us": 100}}
        result = proctor.scale(
            plugin="mock", virtual_time=True, options=options, slo_ms=20, duration=10,
            policies=["joint", "8x1"], progress=False, output_folder=self.place(),
        )
        self.assertIsInstance(result, proctor.ScaleResult)
        self.assertEqual([course["policy"] for course in result.courses], ["joint", "8x1"])
        self.assertEqual(len(proctor.load(self.place()).courses), 2)
        with self.assertRaises(proctor.SettingsError):
            proctor.scale(plugin="mock", virtual_time=True, progress=False, duration=0)

    def test_runs_are_compared(self):
        def run(name, service_us):
            options = {"mock": {"service": "fixed", "service_us": service_us}}
            return self.run_virtually(
                name, scenario="SingleStream", mode="performance", options=options, min_query_count=2000
            )

        a, b = run("a", 1000), run("b", 1500)
        compared = proctor.compare(a, b, fail_if=["p90 > 5%", "throughput > 90%"])
        self.assertEqual(compared.failed, ["p90 > 5%"])
        p90 = compared.figure("p90")
        self.assertAlmostEqual(p90.change, 0.5, places=2)
        self.assertIn("p90", str(compared))
        self.assertIn("<pre>", compared._repr_html_())
        self.assertEqual(proctor.compare(a, b, fail_if="p90 > 5%").failed, ["p90 > 5%"])
        self.assertEqual(proctor.compare(a, self.place("a")).failed, [])
        with self.assertRaises(proctor.SettingsError):
            proctor.compare(a, b, fail_if=["fast"])
        with self.assertRaises(proctor.DataError):
            proctor.compare(a, self.place("nowhere"))


class Lists(unittest.TestCase):
    def test_what_can_be_run_is_listed(self):
        benchmarks = {benchmark.name: benchmark for benchmark in proctor.list_benchmarks()}
        self.assertIn("Offline", benchmarks["digits-lstm"].scenarios)
        plugins = {plugin.name for plugin in proctor.list_plugins()}
        self.assertLessEqual({"cpu-rnn", "mock"}, plugins)


if __name__ == "__main__":
    unittest.main()
