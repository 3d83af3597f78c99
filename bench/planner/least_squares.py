"""Least squares with a prior (Levenberg-Marquardt): few parameters, each with its standard error.

All parameters are positive and fitted as logarithms, so errors are relative. A parameter that the data do
not determine stays at its prior, and its error says so.
"""

import dataclasses
from typing import Callable

import numpy


@dataclasses.dataclass(frozen=True)
class Prior:
    value: float
    spread: float  # standard deviation of the logarithm


@dataclasses.dataclass(frozen=True)
class Fit:
    values: dict[str, float]
    relative_errors: dict[str, float]
    residuals: numpy.ndarray  # of the data alone


def fit(priors: dict[str, Prior], residuals: Callable[[dict[str, float]], numpy.ndarray], noise: float,
        rounds: int = 30) -> Fit:
    """residuals(values): one number a measurement, of which `noise` is the expected standard deviation."""
    names = list(priors)
    center = numpy.log([priors[name].value for name in names])
    spread = numpy.array([priors[name].spread for name in names])

    def at(point: numpy.ndarray) -> numpy.ndarray:
        values = dict(zip(names, numpy.exp(point)))
        return numpy.concatenate([residuals(values) / noise, (point - center) / spread])

    point, damping = center.copy(), 1e-2
    current = at(point)
    for _ in range(rounds):
        jacobian = _jacobian(at, point, current)
        normal = jacobian.T @ jacobian
        step = numpy.linalg.solve(normal + damping * numpy.diag(numpy.diag(normal)), -jacobian.T @ current)
        tried = at(point + step)
        if tried @ tried < current @ current:
            converged = current @ current - tried @ tried < 1e-9 * (current @ current)
            point, current, damping = point + step, tried, max(damping / 5, 1e-9)
            if converged:
                break
        else:
            damping *= 5
    covariance = numpy.linalg.inv(_jacobian(at, point, current).T @ _jacobian(at, point, current))
    errors = numpy.sqrt(numpy.diag(covariance))
    return Fit(dict(zip(names, map(float, numpy.exp(point)))), dict(zip(names, map(float, errors))),
               current[:-len(names)] * noise)


def _jacobian(function: Callable, point: numpy.ndarray, value: numpy.ndarray) -> numpy.ndarray:
    step = 1e-4
    columns = [(function(point + step * unit) - value) / step for unit in numpy.eye(len(point))]
    return numpy.stack(columns, axis=1)
