"""Boards, rules and runbooks agree with each other and with the metrics that there are."""

import json
import pathlib
import re
import subprocess
import unittest

import boards

FOLDER = pathlib.Path(__file__).resolve().parent
REPOSITORY = FOLDER.parent
RULES = (boards.RULES, boards.OPERATOR_RULES)
RULES_TEST = FOLDER / "caravan.rules_test.yaml"
REFERENCES = [REPOSITORY / f"docs/reference/{name}.md" for name in ("metrics", "operator-metrics", "service-metrics")]
ALERTS = ("CaravanJobStalled", "CaravanNonFinite", "CaravanMFUDrop", "CaravanMemoryNearLimit", "CaravanCheckpointStale",
          "CaravanStraggler", "CaravanRestartLoop", "CaravanJobFailed", "CaravanQueuedTooLong", "CaravanServiceFails",
          "CaravanServiceSlow", "CaravanServiceWithoutApi", "CaravanOperatorDown")
# Of a job's spec, or of what is in one of those.
FIELDS_THAT_NEVER_CHANGE = ("checkpoint", "training", "parallelism", "resources", "activationCheckpointing", "everySteps", "keepLast")
PANELS = {"timeseries", "stat", "gauge", "bargauge", "table", "text"}
# Metrics of the reference that no board and no rule reads, each with the reason.
UNUSED = {"caravan_service_jobs": "how much a replica holds, which is no sign of trouble",
          "caravan_clock_difference_seconds": "zero as a rule, and the operator's log warns where it is not"}
NAMES = re.compile(r"\b(?:caravan|controller_runtime|workqueue|stale_sync|rest_client|grpc_server|leader_election)_\w+")


def metrics_of(text):
    """Names of series, those of a histogram's parts as the histogram's. Recording rules have colons and are none."""
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in NAMES.findall(re.sub(r"\bnamespace_job\w*:[\w:]+", "", text))}


def metrics_of_references():
    return {name for page in REFERENCES for name in re.findall(r"^\| `(\w+)` \|", page.read_text(), re.MULTILINE)}


def panels():
    """(board, panel)"""
    for name in boards.BOARDS:
        for panel in json.loads(boards.path_of(name).read_text())["panels"]:
            yield name, panel


def queries(names=tuple(boards.BOARDS)):
    for name in names:
        board = json.loads(boards.path_of(name).read_text())
        yield from (target["expr"] for panel in board["panels"] for target in panel.get("targets", []))
        yield from (one["expr"] for one in board["annotations"]["list"] if "expr" in one)
        yield from (one["definition"] for one in board["templating"]["list"] if "definition" in one)


def text_of_rules():
    return "".join(path.read_text() for path in RULES)


def expressions_of_rules():
    """Whatever stands behind `expr:`, up to the next key."""
    return re.findall(r"^ +expr: (.*?)(?=^ +(?:- )?\w+:|\Z)", text_of_rules(), re.MULTILINE | re.DOTALL)


class Boards(unittest.TestCase):
    def test_are_what_their_sources_make(self):
        for name in boards.BOARDS:
            self.assertEqual(boards.path_of(name).read_text(), boards.text_of(name),
                             f"{name}.json: write it anew with dashboards/boards.py write")

    def test_use_only_panels_that_every_grafana_has(self):
        for board, panel in panels():
            self.assertIn(panel["type"], PANELS, f"{board}: {panel['title']}")

    def test_say_of_every_panel_what_it_shows_and_in_which_unit(self):
        for board, panel in panels():
            where = f"{board}: {panel['title']}"
            self.assertGreater(len(panel["description"]), 15, where)
            self.assertTrue(panel["description"].rstrip().endswith("."), where)
            if panel["type"] != "text":
                self.assertTrue(panel["fieldConfig"]["defaults"]["unit"], where)
                self.assertTrue(panel["targets"], where)

    def test_name_no_panel_twice_and_lay_none_over_another(self):
        for name in boards.BOARDS:
            own = [panel for board, panel in panels() if board == name]
            self.assertEqual(len({panel["id"] for panel in own}), len(own), name)
            taken = set()
            for panel in own:
                place = panel["gridPos"]
                cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
                self.assertFalse(cells & taken, f"{name}: {panel['title']}")
                taken |= cells
            self.assertLessEqual(max(x for x, _ in taken), 23, name)

    def test_find_each_other_and_their_prometheus(self):
        for name in boards.BOARDS:
            board = json.loads(boards.path_of(name).read_text())
            self.assertEqual((board["uid"], board["schemaVersion"]), (f"caravan-{name}", 39))
            self.assertEqual(board["tags"], board["links"][0]["tags"])
            self.assertEqual(board["templating"]["list"][0]["type"], "datasource")
            sources = {json.dumps(target["datasource"]) for panel in board["panels"] for target in panel.get("targets", [])}
            self.assertEqual(sources, {json.dumps({"type": "prometheus", "uid": "${datasource}"})}, name)


    def test_of_one_job_and_of_one_operator_mix_it_with_no_other(self):
        for name in ("job", "operator"):
            variables = json.loads(boards.path_of(name).read_text())["templating"]["list"]
            [choice] = [one for one in variables if one["name"] == "namespace"]
            self.assertFalse(choice["includeAll"] or choice["multi"], name)
            for expression in set(queries([name])) - {choice["definition"]}:
                selectors = re.findall(NAMES.pattern + r"[\w:]*(\{[^}]*\})?", expression)
                self.assertTrue(all('namespace="$namespace"' in selector for selector in selectors), f"{name}: {expression}")

    def test_of_all_jobs_show_the_chosen_namespace_or_say_that_it_is_all_namespaces(self):
        for board, panel in panels():
            for target in panel.get("targets", []) if board == "fleet" else []:
                of_cluster = target["expr"].replace("caravan_node_devices", "")  # nodes are of no namespace
                selectors = re.findall(rf"(?:ALERTS|{NAMES.pattern})[\w:]*(\{{[^}}]*\}})?", of_cluster)
                if not all('namespace=~"$namespace"' in selector for selector in selectors):
                    self.assertIn("all namespaces", panel["title"] + panel["description"], target["expr"])

    def test_of_a_job_look_back_further_than_a_step_takes_where_it_is_old_enough(self):
        for board, panel in panels():
            for target in panel.get("targets", []) if board == "job" else []:
                guarded = re.sub(r"offset 5m\)\) or on \(\) \(.*\$__rate_interval.*", "", target["expr"])
                self.assertNotIn("$__rate_interval", guarded, panel["title"])

    def test_have_tables_whose_columns_are_all_of_the_same_rows(self):
        for board, panel in panels():
            if panel["type"] == "table":
                rows = {tuple(re.findall(r"\b(?:top|bottom)k\(\d+, .*", target["expr"])) for target in panel["targets"]}
                self.assertEqual(len(rows), 1, f"{board}: {panel['title']}: {rows}")


class Metrics(unittest.TestCase):
    def test_that_boards_and_rules_read_are_in_the_reference(self):
        known = metrics_of_references()
        for expression in [*queries(), *expressions_of_rules()]:
            self.assertLessEqual(metrics_of(expression), known, expression)

    def test_of_the_reference_are_all_read_or_the_reason_stands_here(self):
        read = set().union(*map(metrics_of, [*queries(), *expressions_of_rules()]))
        self.assertEqual(metrics_of_references() - read, set(UNUSED), "on no board and in no rule")

    def test_of_the_job_service_in_the_reference_are_those_that_it_has(self):
        source = (REPOSITORY / "service/metrics.cc").read_text()
        page = (REPOSITORY / "docs/reference/service-metrics.md").read_text()
        self.assertEqual(set(re.findall(r'"(caravan_service_\w+)"', source)), set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)))

    def test_that_boards_read_of_recording_rules_are_recorded(self):
        recorded = set(re.findall(r"- record: (\S+)", text_of_rules()))
        for expression in [*queries(), *expressions_of_rules()]:
            self.assertLessEqual(set(re.findall(r"\bnamespace_job\w*:[\w:]+", expression)), recorded, expression)


class Rules(unittest.TestCase):
    def promtool(self, *arguments):
        done = subprocess.run(["promtool", *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_have_no_mistake_that_promtool_finds(self):
        self.promtool("check", "rules", *RULES)

    def test_fire_when_they_should_and_stay_quiet_otherwise(self):
        self.promtool("test", "rules", RULES_TEST)

    def test_are_these_alerts_each_tested_both_ways_and_each_with_a_runbook(self):
        text, tests = text_of_rules(), RULES_TEST.read_text()
        self.assertEqual(tuple(re.findall(r"- alert: (\S+)", text)), ALERTS)
        self.assertEqual(tuple(re.findall(r"runbook_url: docs/runbooks/(\S+)\.md", text)), ALERTS)
        for alert in ALERTS:
            self.assertRegex(tests, rf"(?s)alertname: {alert}\n +eval_time: \S+\n +exp_alerts:\n", f"{alert} fires in no test")
            page = (REPOSITORY / f"docs/runbooks/{alert}.md").read_text()
            if set(FIELDS_THAT_NEVER_CHANGE) & set(re.findall(r"`(?:spec\.)?(\w+)(?:\.\w+)*[:`]", page)):
                self.assertRegex(page, "another\\s+(?:job|of another name)", alert)
            self.assertLessEqual(set(re.findall(r" -n ([\w-]+)", page)), {"NAMESPACE"}, f"{alert}: the alert says where")
            self.assertNotIn("--all-pods", page, f"{alert}: kubectl has it from 1.32 on only")
            for heading in ("## What it means", "## How to look", "## What to do"):
                self.assertIn(heading, page, alert)
            self.assertIn(f"](../runbooks/{alert}.md)", (REPOSITORY / "docs/user/monitoring.md").read_text())

    def test_have_thresholds_that_the_page_explains(self):
        self.assertEqual(set(ALERTS), set(re.findall(r"^\| \[(Caravan\w+)\]", (REPOSITORY / "docs/user/monitoring.md").read_text(),
                                                     re.MULTILINE)))


if __name__ == "__main__":
    unittest.main()
