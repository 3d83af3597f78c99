"""That nothing but what has passed today, as it is, and what has its turn on another day, is left out."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).with_name("remembering_ctest.py")

CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(small NONE)
enable_testing()
foreach(name sure shaky alone style up)
  add_test(NAME ${name} COMMAND sh "${CMAKE_SOURCE_DIR}/count.sh" ${name} "${CMAKE_SOURCE_DIR}/${name}.sh")
endforeach()
set_tests_properties(alone PROPERTIES LABELS "unit;alone")
set_tests_properties(style PROPERTIES LABELS lint)
set_tests_properties(up PROPERTIES FIXTURES_SETUP room)
set_tests_properties(sure PROPERTIES FIXTURES_REQUIRED room)
set_tests_properties(alone PROPERTIES REQUIRED_FILES "${CMAKE_SOURCE_DIR}/read.cc")
set_tests_properties(shaky PROPERTIES DEPENDS sure)
foreach(number RANGE 1 9)
  add_test(NAME long${number} COMMAND sh "${CMAKE_SOURCE_DIR}/count.sh" long${number} "${CMAKE_SOURCE_DIR}/sure.sh")
  set_tests_properties(long${number} PROPERTIES LABELS whole_by_turns FIXTURES_REQUIRED hall)
endforeach()
add_test(NAME open COMMAND sh "${CMAKE_SOURCE_DIR}/count.sh" open "${CMAKE_SOURCE_DIR}/up.sh")
set_tests_properties(open PROPERTIES LABELS whole FIXTURES_SETUP hall)
add_test(NAME gpu COMMAND sh "${CMAKE_SOURCE_DIR}/count.sh" gpu "${CMAKE_SOURCE_DIR}/gpu.sh")
set_tests_properties(gpu PROPERTIES LABELS lint_by_turns
  REQUIRED_FILES "${CMAKE_SOURCE_DIR}/kernel.cu;${CMAKE_BINARY_DIR}/bin/program")
"""


class Project:
    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        (folder / "tests").mkdir()
        (folder / "build/small/bin").mkdir(parents=True)
        shutil.copy(SCRIPT, folder / "tests")
        self.write("CMakeLists.txt", CMAKE)
        self.write("CMakePresets.json", json.dumps({
            "version": 3, "configurePresets": [{"name": "small", "generator": "Ninja", "binaryDir": "${sourceDir}/build/small"}],
            "testPresets": [{"name": "small", "configurePreset": "small"}]}))
        self.write(".gitignore", "build\nran\n")
        self.write("count.sh", 'echo "$1" >> "$(dirname "$0")/ran"\nexec sh "$2"\n')
        for name in ("sure", "shaky", "alone", "style", "up", "gpu"):
            self.write(f"{name}.sh", "exit 0\n")
        for name in ("main.cc", "read.cc", "kernel.cu"):
            self.write(name, "")
        self.program = folder / "build/small/bin/program"
        self.program.write_text("old")
        self.program.chmod(0o755)
        subprocess.run(["git", "init", "--quiet", folder], check=True)
        self.commit(day=1)
        subprocess.run(["cmake", "--preset", "small"], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def commit(self, day: int) -> None:
        when = f"@{day * 86400 + 1} +0000"
        for command in (["add", "--all"], ["-c", "user.name=one", "-c", "user.email=one@test", "commit", "--quiet", "--message", "one"]):
            subprocess.run(["git", *command], cwd=self.folder, check=True,
                           env={**os.environ, "GIT_COMMITTER_DATE": when, "GIT_AUTHOR_DATE": when})

    def run(self, day: str = "7", filters: tuple[str, ...] = ("-LE", "whole|by_turns"), **environment: str) -> tuple[int, list[str]]:
        ran = self.folder / "ran"
        ran.unlink(missing_ok=True)
        done = subprocess.run([self.folder / "tests/remembering_ctest.py", "small", "2", *filters], check=False, capture_output=True,
                              env={**os.environ, "CARAVAN_TEST_DAY": day, "CARAVAN_TEST_AGAIN": "", **environment})
        return done.returncode, sorted(ran.read_text().split()) if ran.exists() else []


class RememberingCtest(unittest.TestCase):
    ALL = ["alone", "shaky", "style", "sure", "up"]

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.project = Project(pathlib.Path(folder.name))

    def test_what_has_passed_runs_once_a_day(self) -> None:
        self.assertEqual(self.project.run(), (0, self.ALL))
        self.assertEqual(self.project.run(), (0, ["style"]))
        self.assertEqual(self.project.run(CARAVAN_TEST_AGAIN="1"), (0, self.ALL))
        self.assertEqual(self.project.run("8"), (0, self.ALL))
        self.assertEqual(self.project.run("all"), (0, self.ALL))

    def test_what_has_failed_runs_again_with_its_fixtures(self) -> None:
        self.project.write("sure.sh", "exit $(cat \"$(dirname \"$0\")/build/code\")\n")
        self.project.write("build/code", "1")
        self.assertEqual(self.project.run(), (8, self.ALL))
        self.project.write("build/code", "0")
        self.assertEqual(self.project.run(), (0, ["style", "sure", "up"]))
        self.assertEqual(self.project.run(), (0, ["style"]))

    def test_what_fails_when_it_is_run_for_another_reason_has_not_passed(self) -> None:
        self.project.write("sure.sh", "exit $(cat \"$(dirname \"$0\")/build/code\")\n")
        for asked in ({"CARAVAN_TEST_AGAIN": "1"}, {"day": "all"}):
            self.project.write("build/code", "0")
            self.assertEqual(self.project.run()[0], 0)
            self.project.write("build/code", "1")
            self.assertEqual(self.project.run(**asked), (8, self.ALL))
            self.assertEqual(self.project.run(), (8, ["style", "sure", "up"]), asked)

    def test_with_a_test_run_those_that_it_depends_on(self) -> None:
        self.project.write("shaky.sh", "exit $(cat \"$(dirname \"$0\")/build/code\")\n")
        self.project.write("build/code", "1")
        self.assertEqual(self.project.run()[0], 8)
        self.assertEqual(self.project.run(), (8, ["shaky", "style", "sure", "up"]))

    def test_filters_hold_and_nothing_that_they_ask_for_is_left_out(self) -> None:
        self.assertEqual(self.project.run(filters=("-R", "shaky|alone")), (0, ["alone", "shaky"]))
        self.assertEqual(self.project.run(filters=("-L", "unit|lint")), (0, ["style"]))
        self.assertEqual(self.project.run(filters=("-E", "style|long")), (0, ["sure", "up"]))
        self.assertEqual(self.project.run(filters=("-R", "nothing of that name"))[1], [])

    def test_without_git_all_runs(self) -> None:
        shutil.rmtree(self.project.folder / ".git")
        for _ in range(2):
            self.assertEqual(self.project.run(), (0, self.ALL))

    def test_long_tests_take_turns(self) -> None:
        long = [f"long{number}" for number in range(1, 10)]
        ran = [self.project.run(day, ("-L", "whole"))[1] for day in ("9", "10", "11")]
        for each in ran:
            self.assertTrue(2 <= len(each) < len(long), ran)  # and `open`, which they need
        self.assertEqual(sorted(name for each in ran for name in each if name != "open"), long)
        self.assertEqual(self.project.run("11", ("-L", "whole")), (0, []))
        self.assertEqual(self.project.run("12", ("-L", "whole"))[1], ran[0])
        self.assertEqual(self.project.run("12", ("-L", "whole"), CARAVAN_TEST_AGAIN="1")[1], ran[0])
        self.assertEqual(self.project.run("all", ("-L", "whole")), (0, [*long, "open"]))
        elsewhere = next(name for name in long if name not in ran[0])
        self.assertEqual(self.project.run("12", ("-R", elsewhere)), (0, []))
        self.assertEqual(self.project.run("12", ("-R", "open")), (0, ["open"]))

    def test_long_tests_run_also_where_a_source_of_theirs_has_changed_lately(self) -> None:
        def ran(*days: str) -> list[bool]:
            return [self.project.run(day, ("-R", "gpu")) == (0, ["gpu"]) for day in days]
        self.assertEqual(ran("3", "9", "10", "11", "11", "12"), [True, False, False, True, True, False])
        self.project.write("main.cc", "changed")
        self.assertEqual(ran("12"), [False])
        self.project.write("kernel.cu", "changed")
        self.assertEqual(ran("12"), [True])
        self.project.commit(day=10)
        self.assertEqual(ran("12", "13"), [True, False])

    def test_another_program_has_all_run_that_may_start_it(self) -> None:
        self.project.run()
        self.project.program.write_text("new")
        self.assertEqual(self.project.run(), (0, ["shaky", "style", "sure", "up"]))

    def test_another_file_has_all_run_but_sources_count_as_what_is_built_of_them(self) -> None:
        self.project.run()
        self.project.write("main.cc", "int main() {}")
        self.assertEqual(self.project.run(), (0, ["style"]))
        self.project.write("read.cc", "int read() {}")
        self.assertEqual(self.project.run(), (0, ["alone", "style"]))
        for name in ("case.yaml", "page.md"):
            self.project.write(name, "a: 1")
            self.assertEqual(self.project.run(), (0, self.ALL), name)


if __name__ == "__main__":
    unittest.main()
