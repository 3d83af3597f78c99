"""Everything that docs/planner-validation.md states, computed from the measured data."""

import dataclasses
import pathlib

import numpy

import hagemann
import picks
import published
import vtrain

# Bars that a validation must pass.
BARS = {"picks": {"mean": 0.97, "worst": 0.90}, "heldOutPicks": {"mean": 0.95, "worst": 0.85}, "classifierRight": 0.95,
        "wronglySaidToFit": 0.01, "heldOutStepTimeError": 0.12}


@dataclasses.dataclass(frozen=True)
class Constants:
    memory: hagemann.Fit
    time: hagemann.Fit


def fit_constants(program: pathlib.Path, data: list[hagemann.Row]) -> Constants:
    memory = hagemann.fit_memory(program, data)
    return Constants(memory, hagemann.fit_time(program, data, memory.values))


def constants_table(constants: Constants) -> dict:
    return {name: {"value": fit.values[name], "relativeError": fit.relative_errors[name]}
            for fit in (constants.memory, constants.time) for name in fit.values}


def mean_error(log_ratios: numpy.ndarray) -> float:
    return float(numpy.mean(numpy.abs(numpy.exp(log_ratios) - 1)))


def pick_table(caravan: pathlib.Path, data: list[hagemann.Row], constants: Constants) -> list[dict]:
    profile = hagemann.profile(constants.memory.values, constants.time.values)
    return [dataclasses.asdict(picks.pick_of(caravan, sweep, rows, profile))
            for sweep, rows in picks.sweeps(hagemann.fastest(data)).items()]


def held_out(caravan: pathlib.Path, program: pathlib.Path, data: list[hagemann.Row]) -> dict:
    """Each sweep predicted with constants fitted to the other sweeps."""
    table, errors = [], []
    for sweep, rows in picks.sweeps(data).items():
        constants = fit_constants(program, [row for row in data if row.sweep != sweep])
        table += pick_table(caravan, rows, constants)
        errors += hagemann.time_errors(program, rows, constants.memory.values, constants.time.values)
    return {"picks": table, "stepTimeError": float(numpy.mean(errors)), "worstStepTimeError": max(errors)}


def doublings_table(program: pathlib.Path, data: list[hagemann.Row], constants: Constants) -> list[dict]:
    table = []
    for name, changes in hagemann.doublings(program, data, constants.memory.values, constants.time.values).items():
        measured, predicted = numpy.array(changes).T
        table.append({"name": name, "pairs": len(changes), "measured": float(numpy.mean(measured)),
                      "predicted": float(numpy.mean(predicted)), "worst": float(numpy.max(numpy.abs(measured - predicted)))})
    return table


def validate(bin_folder: pathlib.Path, folder: pathlib.Path) -> dict:
    caravan, program = bin_folder / "caravan", bin_folder / "planner_evaluate"
    data = hagemann.read(folder)
    constants = fit_constants(program, data)
    by_size = vtrain.held_out_errors(program, vtrain.read(folder))
    every = [error for errors in by_size.values() for error in errors]
    return {
        "constants": constants_table(constants),
        "stepTimeError": mean_error(constants.time.residuals),
        "picks": pick_table(caravan, data, constants),
        "doublings": doublings_table(program, data, constants),
        "limits": hagemann.limits(program, data, constants.memory.values),
        "heldOut": held_out(caravan, program, data),
        "classifier": {"nominal": hagemann.classify(program, data, constants.memory.values, shipped=False),
                       "shipped": hagemann.classify(program, data, constants.memory.values, shipped=True)},
        "vtrain": {"rows": len(every), "error": float(numpy.mean(every)),
                   "errorBySize": {size: float(numpy.mean(errors)) for size, errors in by_size.items()}},
        "published": [dataclasses.asdict(verdict) for verdict in published.verdicts(program, folder)],
        "refusesTensorBeyondANode": published.refuses_tensor_beyond_a_node(caravan),
    }


def profile_of(result: dict) -> dict:
    """The profile that goes with the constants of a result."""
    values = {name: round_to(constant["value"], 4) for name, constant in result["constants"].items()}
    profile = hagemann.profile(values, values)
    return profile | {"stepTimeError": f"{result['heldOut']['stepTimeError']:.2f}"}


def round_to(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def pick_checks(rows: list[dict], bars: dict, of: str) -> dict[str, bool]:
    shares = [pick["share_of_best"] for pick in rows]
    return {f"{of}: one ran out of memory": not any(pick["ran_out_of_memory"] for pick in rows),
            f"{of}: mean share of the best MFU": numpy.mean(shares) >= bars["mean"],
            f"{of}: worst share of the best MFU": min(shares) >= bars["worst"]}


def missed_bars(result: dict) -> list[str]:
    shipped = result["classifier"]["shipped"]
    checks = pick_checks(result["picks"], BARS["picks"], "picks")
    checks |= pick_checks(result["heldOut"]["picks"], BARS["heldOutPicks"], "picks of held-out sweeps")
    checks |= {
        "runs told apart at the limit": result["classifier"]["nominal"]["right"] >= BARS["classifierRight"],
        "runs out of memory said to fit":
            shipped["wronglySaidToFit"] <= BARS["wronglySaidToFit"] * shipped["outOfMemory"],
        "step times of held-out sizes": result["vtrain"]["error"] <= BARS["heldOutStepTimeError"],
        "published layouts": all(not verdict["refusal"] for verdict in result["published"]),
        "tensor parallelism beyond a node": result["refusesTensorBeyondANode"],
    }
    return [name for name, passed in checks.items() if not passed]
