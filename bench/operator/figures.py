"""Figures of several measurements."""

import statistics


def quantile_of(values, share):
    """Linear between the neighbours."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def p50_and_p99(seconds):
    return {"count": len(seconds), "p50Milliseconds": round(1000 * quantile_of(seconds, 0.5), 1),
            "p99Milliseconds": round(1000 * quantile_of(seconds, 0.99), 1)}


def spread(runs):
    """Of objects alike, one object: each figure as its median, least and most."""
    first = runs[0]
    if isinstance(first, dict):
        return {key: spread([run[key] for run in runs]) for key in first}
    if not isinstance(first, (int, float)):
        return first
    return {"median": statistics.median(runs), "least": min(runs), "most": max(runs)}
