"""An operator, that of one namespace: whether it keeps up."""

from panels import GREEN, RED, YELLOW, board, column, label_variable, query, stat, table, thresholds, timeseries

HERE = 'namespace="$namespace"'
NAME = f'{HERE},controller="llamatrainingjob"'
QUEUE = f'{HERE},name="llamatrainingjob"'
RATE = "[$__rate_interval]"
# Kubernetes' own programs and etcd export series of these names, too.
OURS = f"and on (instance) leader_election_master_status{{{QUEUE}}}"


def rate(counter, labels=HERE, window=RATE):
    return f"rate({counter}{{{labels}}}{window}) {OURS}"


def quantile(part, metric, labels):
    return f"histogram_quantile({part}, sum by (le) (rate({metric}_bucket{{{labels}}}{RATE})))"


def quantiles(metric, labels):
    return (query(quantile(0.5, metric, labels), "p50"), query(quantile(0.99, metric, labels), "p99"))


def headline():
    calls = f"sum({rate('rest_client_requests_total', window='[5m]')})"
    errors = "sum(" + rate("rest_client_requests_total", f'{HERE},code=~"0|4..|5.."', "[5m]") + ")"
    return 4, [
        (3, stat("Leaders", "Replicas of this operator that lead: one. 0 for five minutes is the alert CaravanOperatorDown.", "none",
                 f"sum(leader_election_master_status{{{QUEUE}}})", thresholds(RED, (1, GREEN), (2, YELLOW)))),
        (3, stat("Reconciles/s", "Looks at a job, of which each ends in a status, in pods made or deleted, or in nothing to do.", "ops", f"sum(rate(controller_runtime_reconcile_total{{{NAME}}}[5m]))", decimals=2)),
        (3, stat("Failed reconciles/s", "Those that ended with an error; the log has them as warnings, with the job.", "ops",
                 f"sum(rate(controller_runtime_reconcile_errors_total{{{NAME}}}[5m]))", thresholds(GREEN, (0.01, YELLOW), (1, RED)), decimals=2)),
        (3, stat("Jobs due", "Jobs that wait to be looked at.", "none", f"max(workqueue_depth{{{QUEUE}}})",
                 thresholds(GREEN, (100, YELLOW), (1000, RED)))),
        (3, stat("Longest wait", "How long the first of them has been due. More than some seconds: the operator does not keep up.", "s",
                 f"max(workqueue_longest_wait_seconds{{{QUEUE}}})", thresholds(GREEN, (5, YELLOW), (60, RED)))),
        (3, stat("API errors", "Part of the calls of the API server that had an error as their answer, or none. Conflicts (409) are normal.", "percentunit",
                 f"({errors} or vector(0)) / {calls}", thresholds(GREEN, (0.05, YELLOW), (0.25, RED)), decimals=1)),
        (3, stat("Caches behind", "Since the API server last told the most silent cache anything. Watches are told something every minute or so. Once Kueue is uninstalled nothing tells of its objects: start the operator anew.", "s",
                 f"max(caravan_cache_age_seconds{{{HERE}}})", thresholds(GREEN, (300, YELLOW), (900, RED)))),
        (3, stat("Panics", "Reconciles that threw, ever. Each is a bug worth a report.", "none",
                 f"sum(controller_runtime_reconcile_panics_total{{{NAME}}})", thresholds(GREEN, (1, RED))))]


def reconciles():
    return 8, [
        (8, timeseries("Reconciles", "By result: requeue_after looks again at a known time, error at a growing distance.", "ops",
                       query(f"sum by (result) (rate(controller_runtime_reconcile_total{{{NAME}}}{RATE}))", "{{result}}"), stacked=True)),
        (8, timeseries("Time of a reconcile", "From taking the job to having written what follows. Waiting for the API server is most of it.", "s",
                       *quantiles("controller_runtime_reconcile_time_seconds", NAME), logarithmic=True)),
        (8, timeseries("Processor time of a reconcile", "Without waiting. Planning of large jobs stands out.", "s",
                       *quantiles("caravan_reconcile_cpu_seconds", NAME), logarithmic=True))]


def queue():
    return 8, [
        (8, timeseries("Wait in the queue", "How long a job was due before it was looked at.", "s",
                       *quantiles("workqueue_queue_duration_seconds", QUEUE), logarithmic=True)),
        (8, timeseries("Jobs due", "And how many were queued again after an error, or put off until caches had seen our own writes, in a minute.",
                       "none", query(f"max(workqueue_depth{{{QUEUE}}})", "due"),
                       query(f"60 * sum(rate(workqueue_retries_total{{{QUEUE}}}{RATE}))", "again after an error, a minute"),
                       query(f"60 * sum(rate(stale_sync_skips_total{{{NAME}}}{RATE}))", "put off, a minute"))),
        (8, timeseries("Planning", "Time of a decision that planned a job, of all since the operator's start, since plans are rare. Some hundred "
                       "milliseconds for thousands of devices.", "s",
                       query(f"histogram_quantile(0.5, sum by (le) (caravan_plan_seconds_bucket{{{HERE}}}))", "p50"),
                       query(f"histogram_quantile(0.99, sum by (le) (caravan_plan_seconds_bucket{{{HERE}}}))", "p99"), logarithmic=True))]


def api():
    return 8, [
        (8, timeseries("Calls of the API server", "By method and code; code 0 had no answer.", "reqps",
                       query(f"sum by (method, code) ({rate('rest_client_requests_total')})", "{{method}} {{code}}"))),
        (8, timeseries("Calls tried again", "By code: 429 means that the API server limits us, 0 that it is away.", "reqps",
                       query(f"sum by (code) ({rate('rest_client_request_retries_total')}) "
                             'or label_replace(vector(0), "code", "none", "", "")', "{{code}}"))),
        (8, timeseries("Watches opened and caches listed anew", "In a minute. Watches end by themselves every few minutes; many lists after the start "
                       "mean that watches break.", "none", query(f"60 * sum(rate(caravan_watch_opened_total{{{HERE}}}{RATE}))", "watches opened"),
                       query(f"60 * sum(rate(caravan_watch_relists_total{{{HERE}}}{RATE}))", "caches listed")))]


def reports():
    return 8, [
        (8, timeseries("Report streams that ended", "Calls of the report service by code. A stream lives as long as an attempt; UNAUTHENTICATED: a pod "
                       "whose token is not that of a job.", "ops",
                       query(f"sum by (grpc_code) ({rate('grpc_server_handled_total')})", "{{grpc_code}}"), no_value="none yet")),
        (8, timeseries("Reports refused and held up", "What coordinators tell that cannot be true, and what comes faster than they are read. In a minute.",
                       "none", query(f"60 * sum(rate(caravan_reports_refused_total{{{HERE}}}{RATE}))", "refused"),
                       query(f"60 * sum(rate(caravan_reports_held_up_total{{{HERE}}}{RATE}))", "held up"))),
        (8, timeseries("Life of a report stream", "Of those that ended, the mean.", "s",
                       query(f"sum(grpc_server_handling_seconds_sum{{{HERE}}} {OURS})"
                             f" / (sum(grpc_server_handling_seconds_count{{{HERE}}} {OURS}) > 0)", "mean"),
                       no_value="none ended yet"))]


def caches():
    return 9, [
        (12, table("Caches", "Copies of what the operator watches: the last change that it has seen, and since when it has heard nothing.",
                   [query(f"max by (resource) (caravan_cache_resource_version{{{HERE}}})", table=True),
                    query(f"max by (resource) (caravan_cache_age_seconds{{{HERE}}})", table=True)],
                   {"resource": "resource", "Value #A": "seen up to", "Value #B": "last heard"},
                   [column("seen up to", "none", 0), column("last heard", "s", limits=thresholds(GREEN, (300, YELLOW), (900, RED)))],
                   order="last heard")),
        (12, timeseries("Age of the caches", "Since the API server last told a cache anything.", "s",
                        query(f"max by (resource) (caravan_cache_age_seconds{{{HERE}}})", "{{resource}}")))]


def build():
    return board("caravan-operator", "Caravan / Operator", "Whether an operator keeps up: reconciles, queue, API server, reports, caches.",
                 [label_variable("namespace", "Namespace", 'label_values(leader_election_master_status{name="llamatrainingjob"}, namespace)',
                                 everything=False)],
                 [headline(), reconciles(), queue(), api(), reports(), caches()])
