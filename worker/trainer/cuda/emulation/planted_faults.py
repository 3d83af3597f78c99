"""Plants faults in the kernels, one at a time, and asks that their tests find each of them.

Usage: planted_faults.py REPOSITORY BUILD PROGRAM, with the program of the kernels' tests as a path in the build, which
has AddressSanitizer and UndefinedBehaviorSanitizer.
"""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOM = "worker/trainer/cuda"


@dataclasses.dataclass(frozen=True)
class Fault:
    what: str
    kernels: str  # compiled anew, X of X.cu
    tests: str  # a filter of GoogleTest's
    sign: str  # what they say, as a regular expression
    before: str
    after: str
    header: str = ""  # where the fault is, if not in the kernels' own file

    @property
    def file(self):
        return f"{ROOM}/{self.header or self.kernels + '.cu'}"


WRONG = r"values are wrong|other bits in order"
OUT_OF_BOUNDS = "heap-buffer-overflow|unknown-crash"  # the latter where a pack begins inside
SUM_BARRIERS = """  __syncthreads();  // scratch may still be read by an earlier sum
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
"""

FAULTS = [
    Fault("no barrier before a sum's memory is used again", "rms_norm", "RmsNorm*", WRONG,
          SUM_BARRIERS, SUM_BARRIERS.split("\n", 1)[1], "reduce.h"),
    Fault("no barrier before the sums of warps are read", "rms_norm", "RmsNorm*", WRONG,
          SUM_BARRIERS, SUM_BARRIERS.rsplit("  __sync", 1)[0], "reduce.h"),
    Fault("a barrier in a branch", "rms_norm", "RmsNorm*", "threads wait for ever",
          SUM_BARRIERS, SUM_BARRIERS.replace("if (lane == 0) scratch[warp] = value;\n  __syncthreads();",
                                             "if (lane == 0) {\n scratch[warp] = value;\n __syncthreads();\n }"),
          "reduce.h"),
    Fault("no barrier between two stages", "rms_norm", "RmsNorm*", WRONG,
          "  sums[threadIdx.x] = sum;\n  __syncthreads();\n", "  sums[threadIdx.x] = sum;\n"),
    Fault("no barrier in a reduction with two values", "cross_entropy", "CrossEntropy*", WRONG + "|Expected.*loss|nan",
          "  if (lane == 0) scratch[warp] = value;\n  __syncthreads();\n", "  if (lane == 0) scratch[warp] = value;\n"),
    Fault("threads that leave before a barrier", "cross_entropy", "CrossEntropy*", "a shuffle reads from a lane",
          "  total = block_merged(", "  if (threadIdx.x >= a.vocabulary) return;\n  total = block_merged("),
    Fault("shared memory that nobody has written", "rms_norm", "RmsNorm*", WRONG,
          "    store<kWidth, SharedMemory>(sums + i, Values<kWidth>{});", "    (void)(sums + i);"),
    Fault("a store to global memory that goes to shared memory", "rms_norm", "RmsNorm*", "goes to shared memory",
          "store<kWidth, SharedMemory>(row + i, sum)", "store<kWidth>(row + i, sum)"),
    Fault("too little shared memory", "rms_norm", "RmsNorm*", OUT_OF_BOUNDS,
          "static_cast<std::size_t>(columns)) * sizeof", "static_cast<std::size_t>(columns) - 1) * sizeof"),
    Fault("a row that begins one value late", "rms_norm", "RmsNorm*", OUT_OF_BOUNDS + "|misaligned address",
          "store<kWidth>(output + i, values)", "store<kWidth>(output + i + 1, values)"),
    Fault("a range that is one too long", "gradient_norm", "GradientNorm*AddSquares*", OUT_OF_BOUNDS,
          "single, a.elements, [&]", "single, a.elements + 1, [&]"),
    Fault("packs at any address", "gradient_norm", "GradientNorm*AddSquares*", "misaligned address",
          "return array == nullptr || address % kMovedBytes<U, kWidth> == 0;", "return address != 1;", "packs.h"),
    Fault("packs in rows of any length", "swiglu", "Swiglu*", "misaligned address|" + OUT_OF_BOUNDS,
          "columns % kWidth == 0 && single", "single", "packs.h"),
    Fault("no values after the last pack", "adamw", "AdamW*", WRONG,
          "for (std::int64_t i = single + packs * kWidth + worker.index; i < count;",
          "for (std::int64_t i = single + packs * kWidth + worker.index; i < single;", "packs.h"),
    Fault("blocks that share a row of partial sums", "rms_norm", "RmsNorm*", "both write byte|values are wrong",
          "float* const partial = a.partial + std::int64_t{blockIdx.x} * a.columns", "float* const partial = a.partial"),
    Fault("blocks of short rows that share a row of partial sums", "rms_norm", "RmsNorm*", "both write byte|values are wrong",
          "a.partial + std::int64_t{blockIdx.x} * a.columns + column", "a.partial + column"),
    Fault("a row that is read before the one before is done with", "rms_norm", "RmsNorm*", WRONG,
          "    const RowWords words = next;\n", "    const RowWords& words = next;\n"),
    Fault("heads that begin where others do", "heads", "Heads*", r"Actual: false",
          "a.row_size + a.first_head * a.head_dim", "a.row_size"),
    Fault("numbers behind the last one", "normal", "Normal*", OUT_OF_BOUNDS,
          "i >= 0 && i < a.elements", "i >= 0"),
    Fault("blocks that see what others write", "rope", "Rope*", "both write byte|values are wrong|other bits",
          "std::int64_t{blockIdx.x} * a.row_size", "std::int64_t{blockIdx.x / 2} * a.row_size"),
    Fault("an index of 32 bits", "swiglu", "LargeShapes.Swiglu*", "signed integer overflow",
          "std::int64_t{blockIdx.x} * 2 * a.columns;\n  const T* const ups",
          "static_cast<int>(blockIdx.x) * 2 * static_cast<int>(a.columns);\n  const T* const ups"),
    Fault("random numbers by the place in a part", "adamw", "AdamW*", "from 1",
          "noise(numbers.next())", "noise(i + k)"),
]


class Build:
    def __init__(self, repository, build, program):
        self.repository, self.build, self.program = pathlib.Path(repository), build, program
        self.compile = {}
        for command in json.loads(pathlib.Path(build, "compile_commands.json").read_text()):
            self.compile[os.path.relpath(command["file"], repository)] = command["command"]
        commands = subprocess.run(["ninja", "-C", build, "-t", "commands", program],
                                  check=True, capture_output=True, text=True).stdout
        self.link = next(line for line in commands.splitlines() if f"-o {program} " in line)

    def run(self, command):
        return subprocess.run(command, cwd=self.build, shell=True, capture_output=True, text=True)

    def program_with(self, fault, folder):
        """The tests with the fault in the kernels, or what the compiler or linker says."""
        text = (self.repository / fault.file).read_text()
        if text.count(fault.before) != 1:
            return None, f"{fault.file} has not one place like this: {fault.before}"
        changed = folder / fault.file
        changed.parent.mkdir(parents=True)
        changed.write_text(text.replace(fault.before, fault.after))
        source = f"{ROOM}/{fault.kernels}.cu"
        command = self.compile[source]
        output = command.split(" -o ")[1].split()[0]
        command = command.replace(f" -o {output}", f" -I{folder} -o {folder}/kernels.o")
        if not fault.header:
            command = command.replace(str(self.repository / source), str(changed))
        command = command.replace(f" -I{self.repository} ", f" -I{folder} -I{self.repository} ", 1)
        result = self.run(command)
        if result.returncode == 0:
            link = self.link.replace(f"-o {self.program} ", f"-o {folder}/tests {folder}/kernels.o ")
            result = self.run(link)
        return (folder / "tests", "") if result.returncode == 0 else (None, result.stdout + result.stderr)


def missed(build, fault):
    """Why the fault was not found, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        program, problem = build.program_with(fault, pathlib.Path(folder))
        if not program:
            return problem
        # Whatever the day, all of these tests; and they end at the first of what may be thousands of wrong values.
        environment = {name: value for name, value in os.environ.items() if name != "CARAVAN_TEST_DAY"}
        result = subprocess.run([program, f"--gtest_filter={fault.tests}", "--gtest_break_on_failure"], capture_output=True,
                                text=True, env=environment)
    said = result.stdout + result.stderr
    if result.returncode == 0:
        return "the tests pass"
    return "" if re.search(fault.sign, said) else f"the tests say something else:\n{said[-1500:]}"


def main(repository, build, program):
    place = Build(repository, build, program)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda fault: missed(place, fault), FAULTS))
    for fault, why in zip(FAULTS, results):
        print(f"NOT FOUND: {fault.what} in {fault.file}: {why}" if why else f"found: {fault.what} in {fault.file}")
    return 1 if any(results) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
