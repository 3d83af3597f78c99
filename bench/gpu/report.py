"""What the measurements mean: MFU beside the plan's, the ladder from a step to the ceilings, and the profile refitted."""

import json
import pathlib

import refit
from cases import Suite

GOAL = 0.705  # MFU
PROFILE = pathlib.Path(__file__).resolve().parents[2] / "planner/profiles/caravan.yaml"


def run_report(run, entry: dict, predicted: dict) -> dict:
    found = {"name": run.name, "tokens": run.tokens}
    peak_flops = predicted.get("devicePeakFlops")
    for label in ("caravan", "eager", "compile"):
        if label not in entry:
            continue
        figures = dict(entry[label])
        if peak_flops and "modelFlopsPerSecond" in figures:
            figures["mfu"] = figures["modelFlopsPerSecond"] / float(peak_flops)
            if "hardwareFlopsPerSecond" in figures:
                figures["hfu"] = figures["hardwareFlopsPerSecond"] / float(peak_flops)
        found[label] = figures
    own = found.get("caravan", {})
    if "stepSeconds" not in own:
        return found
    found["timesFaster"] = {label: found[label]["stepSeconds"] / own["stepSeconds"] for label in ("eager", "compile")
                            if "stepSeconds" in found.get(label, {})}
    tensors = sum(int(value) for name, value in predicted.get("memory", {}).items() if name != "overhead")
    found["predicted"] = {"peakBytesInTensors": tensors, "peakBytes": int(predicted["peakBytes"])}
    if "stepSeconds" in predicted:
        found["predicted"] |= {"stepSeconds": predicted["stepSeconds"], "mfu": predicted.get("mfu")}
    return found


def ladder(run, step_seconds: float, measured: dict) -> list[dict]:
    """From the whole step down: what its products would take at the ceiling, its attention at the fastest kernel's rate, and
    the weights' update at the rate of memory. What is left is all between them."""
    ceilings = measured["ceilings"]
    model, tokens = run.model, run.tokens
    product_flops = 6 * tokens * sum(inputs * outputs * (model.layers if name != "head" else 1)
                                     for name, inputs, outputs in model.products())
    attention_flops = 3 * 2 * tokens * run.sequence * model.heads * model.head_dim * model.layers  # causal: half of a square
    same = [each for each in measured.get("attention", []) if "bothTeraflops" in each
            and (each["sequence"], each["headDim"]) == (run.sequence, model.head_dim)]
    rungs = [{"part": "products", "seconds": product_flops / ceilings["squareTeraflops"] / 1e12}]
    if same:
        fastest = max(same, key=lambda each: each["bothTeraflops"])
        rungs.append({"part": f"attention ({fastest['kernel']})", "seconds": attention_flops / fastest["bothTeraflops"] / 1e12})
    rungs.append({"part": "update", "seconds": run.update_bytes() / ceilings["copyGigabytesPerSecond"] / 1e9})
    rest = step_seconds - sum(rung["seconds"] for rung in rungs)
    rungs.append({"part": "everything else", "seconds": rest})
    return [rung | {"partOfStep": rung["seconds"] / step_seconds} for rung in rungs]


def rungs(suite: Suite, measured: dict) -> list[dict]:
    """What one change makes of the run: how many times as long a step takes, and its MFU."""
    found = []
    for rung in measured.get("rungs", []):
        number, told = rung["number"], {key: rung[key] for key in ("changed", "failed", "stepSeconds") if key in rung}
        if "stepSeconds" in rung:
            told["timesAsLong"] = rung["stepSeconds"] / measured["runs"][number]["caravan"]["stepSeconds"]
            peak_flops = measured["predictions"][number].get("devicePeakFlops")
            if peak_flops:
                told["mfu"] = rung["modelFlopsPerSecond"] / float(peak_flops)
        found.append({"run": suite.runs[number].name} | told)
    return found


def kernels(measured: dict) -> list[dict] | dict:
    """Each beside the rate of copies, and beside PyTorch's for the same work; the loss as the sum of its kernels."""
    found, references = measured.get("kernels", {}), measured.get("pytorchKernels", {})
    if not isinstance(found, list):
        return found
    parts = [each for each in found if each["kernel"].startswith("cross_entropy_")]
    loss = {"kernel": "cross_entropy", "seconds": sum(each["seconds"] for each in parts), "bytes": sum(each["bytes"] for each in parts)}
    loss["gigabytesPerSecond"] = loss["bytes"] / loss["seconds"] / 1e9
    copies = measured["ceilings"]["copyGigabytesPerSecond"]
    return [each | {"ofCopies": each["gigabytesPerSecond"] / copies}
            | ({"timesFaster": references[each["kernel"]] / each["seconds"]} if each["kernel"] in references else {})
            for each in [*found, loss]]


def profile(suite: Suite, measured: dict) -> dict:
    """The last step of a run by kernel; what is below a thousandth of it is left out."""
    found = measured.get("profile", {})
    if "kernels" not in found:
        return found
    kept = [each for each in found["kernels"] if each["partOfStep"] >= 0.001]
    return {"run": suite.runs[found["number"]].name, "seconds": found["seconds"], "idleSeconds": found["idleSeconds"],
            "kernels": kept}


def refitted(programs: pathlib.Path, suite: Suite, jobs: list[dict], measured: dict) -> dict:
    """jobs: JobPlan of each run."""
    kept = [number for number, entry in enumerate(measured["runs"]) if "stepSeconds" in entry.get("caravan", {})]
    predictions = measured["predictions"]
    tensors = [run_report(suite.runs[number], measured["runs"][number], predictions[number])["predicted"]["peakBytesInTensors"]
               for number in kept]
    peaks = [measured["runs"][number]["caravan"]["peakBytes"] for number in kept]
    found = {"memory": refit.memory_differences(tensors, peaks) if kept else "no run ended"}
    timed = [number for number in kept if "stepSeconds" in predictions[number]]
    if not timed:
        return found | {"time": "the planner predicts no times for this device"}
    return found | {"time": refit.refit_time(programs / "planner_evaluate", refit.read_profile(PROFILE),
                                             [jobs[number] for number in timed],
                                             [measured["runs"][number]["caravan"]["stepSeconds"] for number in timed])}


def report(programs: pathlib.Path, suite: Suite, jobs: list[dict], measured: dict) -> dict:
    runs = [run_report(run, entry, predicted)
            for run, entry, predicted in zip(suite.runs, measured["runs"], measured["predictions"])]
    best = max((each for each in runs if "mfu" in each.get("caravan", {})), key=lambda each: each["caravan"]["mfu"], default=None)
    ladders = {run.name: ladder(run, each["caravan"]["stepSeconds"], measured)
               for run, each in zip(suite.runs[:suite.headlines], runs) if "stepSeconds" in each.get("caravan", {})}
    return {"machine": measured["machine"], "deviceState": measured.get("deviceState", {}), "goalMfu": GOAL,
            "bestMfu": best and {"run": best["name"], "mfu": best["caravan"]["mfu"]}, "ceilings": measured["ceilings"],
            "runs": runs, "ladders": ladders, "rungs": rungs(suite, measured), "refit": refitted(programs, suite, jobs, measured),
            "profile": profile(suite, measured), "kernels": kernels(measured), "attention": measured.get("attention", []),
            "products": measured.get("products", []), "leftOut": measured["leftOut"]}


def read_measured(folder: pathlib.Path) -> dict:
    return json.loads((folder / "measured.json").read_text())
