"""The engine profile made to fit what was measured: rates by step times, what lies outside of tensors by memory.

Each constant stays near what the profile had where the measurements do not determine it, and its error says so. Nothing is
written into planner/profiles: whoever does that names the device and the date.
"""

import pathlib
import re
import sys

import numpy

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "planner"))
from evaluator import Evaluator  # noqa: E402
from least_squares import Prior, fit  # noqa: E402

TIME_NOISE = 0.02
SPREADS = {"gemmEfficiency": 0.2, "gemmHalfSize": 1.0, "attentionEfficiency": 0.5, "layerMemoryPasses": 0.5,
           "layerOverheadSeconds": 1.0}
AT_MOST = {"gemmEfficiency": 1.0, "attentionEfficiency": 1.0, "layerMemoryPasses": 100.0, "layerOverheadSeconds": 1.0,
           "gemmHalfSize": 1e12}


def read_profile(path: pathlib.Path) -> dict:
    """A profile file, which is one level of `key: value` lines."""
    profile: dict = {}
    for key, value in re.findall(r'^(\w+): "?([^"#\n]*?)"?$', path.read_text(), re.MULTILINE):
        profile[key] = int(value) if key.endswith("Bytes") and value.isdigit() or key.startswith("max") else value
    return profile


def with_values(profile: dict, values: dict[str, float]) -> dict:
    return profile | {name: f"{min(value, AT_MOST[name]):.8g}" for name, value in values.items()}


def refit_time(program: pathlib.Path, profile: dict, cases: list[dict], seconds: list[float]) -> dict:
    """cases: JobPlan objects. Values and relative errors of the rates, and the mean absolute error before and after."""
    measured = numpy.array(seconds)
    priors = {name: Prior(float(profile[name]), spread) for name, spread in SPREADS.items()}
    with Evaluator(program, cases) as evaluator:
        def errors(values: dict[str, float]) -> numpy.ndarray:
            return numpy.log(numpy.array(evaluator.predict(with_values(profile, values))["stepSeconds"]) / measured)

        before = errors({name: prior.value for name, prior in priors.items()})
        found = fit(priors, errors, noise=TIME_NOISE)
        after = errors(found.values)
    return {"values": {name: min(value, AT_MOST[name]) for name, value in found.values.items()},
            "relativeErrors": found.relative_errors, "meanErrorBefore": float(numpy.mean(numpy.abs(before))),
            "meanErrorAfter": float(numpy.mean(numpy.abs(after)))}


def memory_differences(predicted: list[float], measured: list[float]) -> dict:
    """Of peaks in tensors, measured less predicted as a part of the latter: what memoryError is to be."""
    differences = [own / plan - 1 for own, plan in zip(measured, predicted)]
    return {"mean": float(numpy.mean(differences)), "deviation": float(numpy.std(differences)),
            "worst": float(max(differences, key=abs))}
