"""Writes what a validation found: docs/planner-validation.md and the fitted profile."""

import pathlib

UNITS = {"replicated": ("layerReplicatedBytes", "bytes a token and hidden element, fused RMSNorm"),
         "replicated_unfused": ("layerReplicatedBytes", "the same, RMSNorm not fused"),
         "logits": ("logitsBytes", "bytes a token and entry of the vocabulary"),
         "gathered": ("gatheredLogitsBytes", "the same, with tensor parallelism"),
         "efficiency": ("gemmEfficiency", "of what large products reach"),
         "half_size": ("gemmHalfSize", "tokens x hidden size / tensor"),
         "node_bandwidth": ("nodeBandwidthFraction", "of NVLink, one direction")}


def table(header: list[str], rows: list[list]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def constants(result: dict) -> str:
    return table(["constant", "value", "standard error", "unit"],
                 [[UNITS[name][0], f"{one['value']:.3g}", percent(one["relativeError"]), UNITS[name][1]]
                  for name, one in result["constants"].items()])


def picks(rows: list[dict]) -> str:
    return table(["sweep", "pick", "judged by", "best measured", "share of the best MFU"],
                 [[pick["sweep"], pick["pick"], "itself" if pick["rank"] == 1 else f"{pick['label']}, number {pick['rank']}",
                   pick["best"], "out of memory" if pick["ran_out_of_memory"] else percent(pick["share_of_best"])]
                  for pick in rows])


def classifier(result: dict) -> str:
    names = {"nominal": "fitted peaks, all of the memory", "shipped": "the shipped profile, margin included"}
    return table(["judged by", "runs", "right", "of runs out of memory, said to fit"],
                 [[names[kind], one["rows"], percent(one["right"]), f"{one['wronglySaidToFit']} of {one['outOfMemory']}"]
                  for kind, one in result["classifier"].items()])


def doublings(result: dict) -> str:
    return table(["pipeline and kernel", "pairs", "measured, mean", "predicted, mean", "furthest apart"],
                 [[one["name"], one["pairs"], f"{100 * one['measured']:+.1f} %", f"{100 * one['predicted']:+.1f} %",
                   percent(one["worst"])] for one in result["doublings"]])


def limits(result: dict) -> str:
    return table(["micro-batch of", "ended with up to", "ran out of memory from"],
                 [[name, percent(ended), percent(out)] for name, (ended, out) in result["limits"].items()])


def held_out_times(result: dict) -> str:
    held_out = result["heldOut"]
    return table(["step times of held-out sweeps", "error"],
                 [["mean", percent(held_out["stepTimeError"])], ["worst", percent(held_out["worstStepTimeError"])]])


def vtrain(result: dict) -> str:
    return table(["model size held out, billion parameters", "mean absolute error"],
                 [[size, percent(error)] for size, error in result["vtrain"]["errorBySize"].items()]
                 + [["all runs", percent(result["vtrain"]["error"])]])


def published(result: dict) -> str:
    return table(["source", "model", "layout", "verdict"],
                 [[one["source"], one["model"], one["layout"], one["refusal"] or "legal, fits"]
                  for one in result["published"]])


def fill(page: str, result: dict) -> str:
    """Replaces what stands between `<!-- NAME -->` and `<!-- end -->` for every table."""
    sections = {"constants": constants(result), "picks": picks(result["picks"]),
                "held-out-picks": picks(result["heldOut"]["picks"]), "classifier": classifier(result),
                "micro-batches": doublings(result), "limits": limits(result),
                "held-out-times": held_out_times(result), "vtrain": vtrain(result), "published": published(result)}
    for name, text in sections.items():
        before, found, rest = page.partition(f"<!-- {name} -->\n")
        if not found:
            raise SystemExit(f"docs/planner-validation.md has no place for the table {name}")
        page = before + found + "\n" + text + "\n<!-- end -->" + rest.partition("<!-- end -->")[2]
    return page


def profile_text(profile: dict) -> str:
    lines = ["# The engine of Hagemann et al. (arXiv 2311.05610), a Megatron fork, with FlashAttention-2 and fused RMSNorm on A100-80GB.",
             "# Written by `./dev bench planner`; docs/planner-validation.md has the standard errors. One level of keys;",
             "# proto/caravan/v1alpha1/profile.proto explains them."]
    for name, value in profile.items():
        plain = isinstance(value, (bool, int)) or name in ("name", "stageSplit")
        lines.append(f"{name}: {str(value).lower() if isinstance(value, bool) else value}" if plain else f'{name}: "{value}"')
    return "\n".join(lines) + "\n"


def write(repository: pathlib.Path, result: dict, profile: dict) -> None:
    page = repository / "docs/planner-validation.md"
    page.write_text(fill(page.read_text(encoding="utf-8"), result), encoding="utf-8")
    (repository / "bench/planner/profiles/hagemann.yaml").write_text(profile_text(profile), encoding="utf-8")
