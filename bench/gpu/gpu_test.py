"""The benchmark for GPUs on a processor: every part of it but the device.

Usage: gpu_test.py PROGRAMS [test...]
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types
import unittest
import unittest.mock

import bundle
import cases
import check
import device_state
import groups
import kernel_summary
import processes
import refit
import report
import user_run
from evaluator import Evaluator

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
SCRIPT = pathlib.Path(__file__).with_name("gpu_bench.py")


def bench(*arguments) -> str:
    done = subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


class AllOfIt(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.report = json.loads(bench(PROGRAMS, "--tiny", "--minutes", "20"))

    def test_nothing_is_left_out(self):
        self.assertEqual(self.report["leftOut"], [])

    def test_every_run_has_a_step_and_a_peak_beside_the_plans(self):
        for run in self.report["runs"]:
            self.assertGreater(run["caravan"]["stepSeconds"], 0, run["name"])
            measured, planned = run["caravan"]["peakBytes"], run["predicted"]["peakBytesInTensors"]
            self.assertLess(abs(measured / planned - 1), 0.05, f"{run['name']}: {measured} of {planned} bytes")

    def test_contestants_train_too(self):
        first = self.report["runs"][0]
        self.assertEqual(set(first["timesFaster"]), {"eager", "compile"})
        for label in ("eager", "compile"):
            self.assertAlmostEqual(first[label]["losses"][0], first["caravan"]["losses"][0], delta=0.2)

    def test_the_ladder_adds_up_to_the_step(self):
        ladder = self.report["ladders"][self.report["runs"][0]["name"]]
        self.assertEqual([rung["part"] for rung in ladder][-1], "everything else")
        self.assertAlmostEqual(sum(rung["partOfStep"] for rung in ladder), 1)

    def test_a_rung_is_the_first_run_with_one_thing_changed(self):
        [rung] = self.report["rungs"]
        self.assertEqual([rung["run"], rung["changed"]], [self.report["runs"][0]["name"], "instruction set: default"])
        self.assertGreater(rung["timesAsLong"], 0)

    def test_own_kernels_and_attention_are_timed(self):
        names = {each["kernel"] for each in self.report["kernels"]}
        self.assertTrue({"add_rms_norm", "swiglu_backward", "rope", "adamw", "cross_entropy_gradient"} <= names)
        for each in self.report["kernels"]:
            self.assertGreater(each["ofCopies"], 0, each["kernel"])
            self.assertEqual("timesFaster" in each, not each["kernel"].startswith("cross_entropy_"), each["kernel"])
        self.assertTrue(any("bothSeconds" in each for each in self.report["attention"]))
        self.assertEqual(len(self.report["products"]), 15)

    def test_a_processor_refits_no_times(self):
        self.assertEqual(self.report["refit"]["time"], "the planner predicts no times for this device")


class Parts(unittest.TestCase):
    def test_the_parts_make_what_the_whole_does(self):
        with tempfile.TemporaryDirectory() as name:
            bench(PROGRAMS, "--tiny", "--prepare", name)
            bench("--measure", name, "--minutes", "0.01")
            found = json.loads(bench(PROGRAMS, "--report", name))
        self.assertIn("Caravan: llama-tiny, sequence 64, micro-batch 1, 2 micro-batches", found["leftOut"])
        self.assertGreater(found["ceilings"]["squareTeraflops"], 0)

    def test_a_bundle_for_a_gpu_says_what_does_not_fit(self):
        suite = cases.gpu_suite("H100-80GB")
        small = cases.Run(cases.LLAMA_1B, 4096, 1)
        self.assertNotIn("refused", bundle.plan(PROGRAMS / "caravan", bundle.job_of(small, suite, "tokens.bin")))
        large = cases.Run(cases.LLAMA_8B, 4096, 1, "BF16")
        refused = bundle.plan(PROGRAMS / "caravan", bundle.job_of(large, suite, "tokens.bin"))["refused"]
        self.assertRegex(refused, "GiB")

    def test_models_have_the_parameters_that_the_planner_counts(self):
        suite = cases.gpu_suite("H200")
        for model in (cases.LLAMA_1B, cases.LLAMA_3B, cases.LLAMA_8B):
            job = bundle.job_of(cases.Run(model, 2048, 1), suite, "tokens.bin")
            job["spec"]["resources"]["devices"] = job["spec"]["parallelism"]["tensor"] = 8
            self.assertEqual(int(bundle.plan(PROGRAMS / "caravan", job)["parameters"]), model.parameters(), model.preset)


    def test_states_of_bf16_make_room_for_8b_on_the_larger_device(self):
        suite = cases.gpu_suite("H200")
        for states, fits in (("BF16", True), ("FP32", False)):
            job = bundle.job_of(cases.Run(cases.LLAMA_8B, 4096, 1, states), suite, "tokens.bin")
            self.assertEqual("refused" not in bundle.plan(PROGRAMS / "caravan", job), fits, states)


class Refit(unittest.TestCase):
    def test_rates_that_made_the_times_are_found(self):
        suite = cases.gpu_suite("H100-80GB")
        profile = refit.read_profile(report.PROFILE)
        jobs = []
        for run in suite.runs:
            job = bundle.job_of(run, suite, "tokens.bin")
            planned = bundle.plan(PROGRAMS / "caravan", job)
            if "refused" not in planned:
                jobs.append({"jobName": "gpu-bench", "spec": job["spec"], "plan": planned, "nodes": 1})
        self.assertGreater(len(jobs), 10)
        true = {"gemmEfficiency": 0.8, "attentionEfficiency": 0.6, "layerMemoryPasses": 4.0}
        with Evaluator(PROGRAMS / "planner_evaluate", jobs) as evaluator:
            seconds = evaluator.predict(refit.with_values(profile, true))["stepSeconds"]
        found = refit.refit_time(PROGRAMS / "planner_evaluate", profile, jobs, seconds)
        self.assertLess(found["meanErrorAfter"], 0.01)
        self.assertGreater(found["meanErrorBefore"], found["meanErrorAfter"])
        self.assertAlmostEqual(found["values"]["gemmEfficiency"], 0.8, delta=0.05)


class Checks(unittest.TestCase):
    """Programs that say what tests say."""

    def said(self, text: str, code: int = 0, seconds: float = 10) -> str:
        with tempfile.TemporaryDirectory() as name:
            tests = pathlib.Path(name)
            (tests / "some_test").write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {code}\n")
            (tests / "some_test").chmod(0o755)
            return check.run(check.Check("some", ["some_test"]), tests, dict(os.environ), seconds, tests / "log")

    def test_only_what_ran_and_passed_is_right(self):
        self.assertEqual(self.said("[  PASSED  ] 3 tests."), "")
        self.assertEqual(self.said("[  FAILED  ] Rope.Turns (3 ms)\n[  FAILED  ] 1 test, listed below:", 1),
                         "1 tests failed, first Rope.Turns")
        self.assertEqual(self.said("[  FAILED  ] All/Kernels.Rope/GpuFloat, where GetParam() = (1, Float) (3 ms)", 1),
                         "1 tests failed, first All/Kernels.Rope/GpuFloat")
        self.assertEqual(self.said("[  PASSED  ] 0 tests.\n[  SKIPPED ] 3 tests"), "tests were skipped: is there a device?")
        self.assertEqual(self.said("ERROR SUMMARY: 2 errors", 9), "exit code 9: ERROR SUMMARY: 2 errors")
        self.assertEqual(self.said("nothing"), "no test ran")
        self.assertEqual(self.said("[  PASSED  ] 3 tests.", seconds=0), "not made: no time was left")

    def test_a_tool_that_is_missing_is_said(self):
        with tempfile.TemporaryDirectory() as name:
            said = check.run(check.CHECKS[-1], pathlib.Path(name), {"PATH": name}, 10, pathlib.Path(name) / "log")
        self.assertEqual(said, "not made: no compute-sanitizer here")


class KernelSummary(unittest.TestCase):
    def test_the_last_step_is_between_two_updates(self):
        swiglu = "void caravan::cuda::(anonymous namespace)::swiglu_kernel<__nv_bfloat16>(caravan::cuda::Swiglu, long)"
        update = "void caravan::cuda::(anonymous namespace)::adamw_kernel<float>(caravan::cuda::AdamW)"
        lines, now = [], 0
        for step in range(3):
            for _ in range(100):
                lines += [f"{now} {now + 10 + step} nvjet_128x256", f"{now + 15} {now + 20} {swiglu}"]
                now += 20
            lines += [f"{now} {now + 50} {update}", f"{now + 50} {now + 100} {update}"]
            now += 100
        with tempfile.TemporaryDirectory() as name:
            file = pathlib.Path(name) / "times"
            file.write_text("\n".join(lines))
            found = kernel_summary.summary(file)
            (pathlib.Path(name) / "short").write_text("\n".join(lines[:202]))
            self.assertRaisesRegex(ValueError, "1 whole steps are not enough", kernel_summary.summary, pathlib.Path(name) / "short")
        kernels = {each["kernel"]: each for each in found["kernels"]}
        self.assertEqual({name: each["times"] for name, each in kernels.items()},
                         {"nvjet_128x256": 100, "swiglu_kernel<__nv_bfloat16>": 100, "adamw_kernel<float>": 2})
        self.assertAlmostEqual(kernels["nvjet_128x256"]["seconds"], 1200e-9)
        self.assertAlmostEqual(found["seconds"], 2100e-9)
        self.assertAlmostEqual(found["idleSeconds"], 300e-9)


class Groups(unittest.TestCase):
    """Of processors, over Gloo: the same layouts as on a device."""

    @classmethod
    def setUpClass(cls) -> None:
        cls._folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls._folder.name)
        bundle.prepare(PROGRAMS, cases.tiny_suite(), folder / "bundle")
        cls.libraries = {"LD_LIBRARY_PATH": processes.libraries(folder / "bundle")}
        cls.checks = groups.Checks(folder / "bundle", folder / "bundle/programs/bin/caravan-trainer", cls.libraries, folder,
                                   time.monotonic() + 300)

    @classmethod
    def tearDownClass(cls) -> None:
        cls._folder.cleanup()

    def test_all_layouts_come_to_what_one_rank_comes_to_and_a_lost_rank_is_heard_of(self):
        lines: list[str] = []
        self.assertEqual(groups.check_all(self.checks, 1, lines.append), 0, lines)
        self.assertEqual(len(lines), len(groups.LAYOUTS) + len(groups.LOST))

    def test_other_losses_are_seen(self):
        layout = groups.LAYOUTS[0]
        said, losses, norms = self.checks.trained(groups.Placed(layout.reference()))
        self.assertEqual(said, "")
        wrong = ("", [loss * 1.001 for loss in losses], norms)
        self.assertIn("away from one rank", self.checks.equals_one_rank(groups.Placed(layout), wrong))

    def test_a_job_as_users_start_it_trains_and_tells_its_metrics(self):
        run = user_run.UserRun(self.checks._bundle, self.libraries, pathlib.Path(self._folder.name))
        self.assertEqual(run.problem(60), "")
        (self.checks._bundle / "tokens.bin").rename(self.checks._bundle / "elsewhere.bin")
        self.assertIn("it ended with 2: ", run.problem(60))
        (self.checks._bundle / "elsewhere.bin").rename(self.checks._bundle / "tokens.bin")

    def test_a_rank_that_fails_is_said(self):
        layout = groups.LAYOUTS[0]
        config = self.checks._bundle / "groups" / layout.folder / "rank-1.json"
        right = config.read_text()
        config.write_text(right.replace('"worldSize": 2', '"worldSize": 3'))
        said, _, _ = self.checks.trained(groups.Placed(layout))
        config.write_text(right)
        self.assertIn("rank 1 ended with 2: InvalidInput: ", said)


class Places(unittest.TestCase):
    def test_ranks_have_a_device_each_where_there_are_as_many(self):
        def spread(devices: int) -> set[str]:
            return {each.layout.name for each in groups.compared_on(devices) + groups.lost_on(devices) if each.spread}

        self.assertEqual(spread(0), set())
        self.assertEqual(spread(1), set())
        of_two = {layout.name for layout in [*groups.LAYOUTS, *groups.LOST] if layout.ranks == 2}
        self.assertEqual(spread(2), of_two | {"pipeline 2, VZB, large"})
        self.assertEqual(spread(8), {layout.name for layout in [*groups.LAYOUTS, *groups.OF_SEVERAL_DEVICES, *groups.LOST]})

    def test_devices_are_those_that_ranks_see(self):
        seen = types.SimpleNamespace(cuda=types.SimpleNamespace(device_count=lambda: 3))
        with unittest.mock.patch.dict(sys.modules, {"torch": seen}):
            self.assertEqual(groups.devices_here(), 3)

    def test_all_share_the_first_device_whatever_there_is(self):
        for devices in (0, 1, 8):
            shared = [each.layout for each in groups.compared_on(devices) + groups.lost_on(devices) if not each.spread]
            self.assertEqual(shared, [*groups.LAYOUTS, *groups.LOST])

    def test_ranks_that_share_a_device_say_that_their_hosts_differ(self):
        shared, spread = groups.Placed(groups.LAYOUTS[0]), groups.Placed(groups.LAYOUTS[0], spread=True)
        self.assertEqual([shared.local_rank(1), shared.environment(1)], [0, {"NCCL_HOSTID": "rank-1"}])
        self.assertEqual([spread.local_rank(1), spread.environment(1)], [1, {}])

    def test_what_is_for_several_devices_fits_them_with_messages_of_more_than_64_mebibytes(self):
        device = cases.gpu_suite("H100-80GB").device
        for layout in groups.all_of_them(on_gpu=True):
            planned = bundle.plan(PROGRAMS / "caravan", groups.job_of(layout, device, "tokens.bin"))
            self.assertNotIn("refused", planned, layout.name)
            self.assertEqual(planned["schedule"], layout.schedule, layout.name)
        large = groups.OF_SEVERAL_DEVICES[0]
        self.assertGreater(large.micro_batch * large.sequence * groups.WIDE["hiddenSize"] * 4, 64 << 20)


class DeviceState(unittest.TestCase):
    def test_what_a_device_does_not_tell_is_left_out(self):
        state = device_state.read_line("1980, 2619, 612.41, 700.00, [N/A], 0x0000000000000004")
        self.assertEqual(state, {"smMegahertz": 1980, "memoryMegahertz": 2619, "watts": 612.41, "limitWatts": 700, "reasons": 4})

    def test_all_reasons_to_throttle_are_kept(self):
        found = device_state.summary([{"watts": 100.0, "reasons": 4}, {"watts": 300.0, "reasons": 1}])
        self.assertEqual(found["watts"], {"least": 100.0, "mean": 200.0, "most": 300.0})
        self.assertEqual(found["reasons"], "0x5")


if __name__ == "__main__":
    unittest.main()
