"""All jobs: what runs, what waits, what it costs."""

from panels import (COLORS_OF_STATES, COLORS_OF_TIME, GREEN, RED, YELLOW, bargauge, board, column, gauge, grown, label_variable, query,
                    stat, table, thresholds, timeseries)

HERE = 'namespace=~"$namespace"'
TO_JOB = {"title": "Open the job", "targetBlank": False,
          "url": "/d/caravan-job?var-namespace=${__data.fields.namespace}&var-job=${__data.fields.job}&${__url_time_range}"}
# Time is told with a step, which may take minutes: rates of it are over a quarter of an hour.
# For a moment two operators may show the same job: one that leads no more, and its successor.
HELD = f"max by (namespace, job, kind) (caravan_job_devices{{{HERE}}})"
PRODUCTIVE = (f"{HELD} * on (namespace, job) group_left () "
              f'clamp_max(sum by (namespace, job) (rate(caravan_job_time_seconds_total{{{HERE},category="productive"}}[15m])), 1)')
OFFERED = "sum(max by (resource) (caravan_node_devices))"
GOODPUT = f"max by (namespace, job) (namespace_job:caravan_goodput:ratio_rate1h{{{HERE}}})"
AGAINST_PREDICTION = (f"namespace_job:caravan_mfu:ratio_rate5m{{{HERE}}} / on (namespace, job) "
                      f"max by (namespace, job) (caravan_predicted_mfu_ratio{{{HERE}}})")
FIRING = 'ALERTS{alertname=~"Caravan.+",alertstate="firing"}'
LOWEST = f"bottomk(50, {GOODPUT})"  # the rows of the table of jobs


def jobs_in(states, by=""):
    """Of all namespaces, which an operator adds up. Each tells of its own jobs; and for a moment two replicas of one may lead."""
    return f'sum {by}(max by (namespace, state) (caravan_jobs{{state=~"{states}"}}))'


def headline():
    return 4, [
        (3, stat("Running jobs, all namespaces", "Jobs whose ranks make steps.", "none", f"{jobs_in('Running')} or vector(0)")),
        (3, stat("Waiting jobs, all namespaces", "Jobs without a place: their plan is made or under way, a queue holds them back, or no devices fit them; no pods run.", "none",
                 f"{jobs_in('Pending|Queued|DoesNotFit')} or vector(0)", thresholds(GREEN, (1, YELLOW)))),
        (3, stat("Devices held", "Devices of jobs that have a place: GPUs, and ranks on processors.", "none", f"sum({HELD}) or vector(0)")),
        (3, stat("Devices at work", "Of those held, the ones that made new steps in the last 15 minutes, in the mean. The rest started, restored, "
                 "stalled or repeated steps.", "none", f"sum({PRODUCTIVE}) or vector(0)", decimals=1)),
        (3, stat("GPUs free", "GPUs that ready nodes offer, less those that jobs of all namespaces hold. Other workloads' are not taken off.", "none",
                 f'clamp_min({OFFERED} - (sum(max by (namespace, job) (caravan_job_devices{{kind="GPU"}})) or vector(0)), 0)',
                 no_value="nodes are not read")),
        (3, gauge("Goodput, 1 h", "Time in which new steps were made, of all time of all jobs.", "percentunit",
                  f'sum(rate(caravan_job_time_seconds_total{{{HERE},category="productive"}}[1h])) '
                  f"/ sum(rate(caravan_job_time_seconds_total{{{HERE}}}[1h]))", thresholds(RED, (0.5, YELLOW), (0.9, GREEN)), decimals=0)),
        (3, stat("Tokens/s", "Of all jobs together.", "short", f"sum(namespace_job:caravan_tokens:rate5m{{{HERE}}})", decimals=1)),
        (3, stat("Alerts, all namespaces", "Alerts of Caravan that fire now; the table below names them.", "none", f"count({FIRING}) or vector(0)",
                 thresholds(GREEN, (1, RED))))]


def over_time():
    return 8, [
        (8, timeseries("Jobs by state, all namespaces", "As `kubectl get llamatrainingjobs` names the states, but that a job whose queue took its devices back "
                       "is Queued again.", "none",
                       query(jobs_in(".*", "by (state) "), "{{state}}"), stacked=True, colors=COLORS_OF_STATES)),
        (8, timeseries("Devices", "Held by jobs, at work on new steps, and GPUs that the nodes offer.", "none",
                       query(f"sum({HELD})", "held"), query(f"sum({PRODUCTIVE})", "at work"), query(OFFERED, "GPUs offered"),
                       dashed=["GPUs offered"])),
        (8, timeseries("Where the jobs' time goes", "How many jobs do what, in the mean of 15 minutes, since time is told with a step. Only productive time makes new steps; queue is "
                       "waiting for devices, rework repeats what a restart had lost.", "none",
                       query(f"sum by (category) (rate(caravan_job_time_seconds_total{{{HERE}}}[15m]))", "{{category}}"),
                       stacked=True, colors=COLORS_OF_TIME))]


def worst():
    return 8, [
        (8, bargauge("MFU against its prediction, the lowest", "Measured over 5 minutes, of what the plan promised. Jobs on devices whose peak "
                     "is not known are not among them.", "percentunit", f"bottomk(10, {AGAINST_PREDICTION})", "{{namespace}} / {{job}}",
                     thresholds(RED, (0.7, YELLOW), (0.9, GREEN)), maximum=1, decimals=0, no_value="no peak of a device is known")),
        (8, bargauge("Goodput, the lowest", "Of the last hour, by job.", "percentunit", f"bottomk(10, {GOODPUT})", "{{namespace}} / {{job}}",
                     thresholds(RED, (0.5, YELLOW), (0.9, GREEN)), maximum=1, decimals=0)),
        (8, bargauge("Waited for devices, the longest", "In the last 6 hours, by job.", "s",
                     f'topk(10, sum by (namespace, job) (increase(caravan_job_time_seconds_total{{{HERE},category="queue"}}[6h])))',
                     "{{namespace}} / {{job}}", thresholds(GREEN, (1800, YELLOW), (3600, RED)), decimals=0))]


def jobs():
    of_these = f"and on (namespace, job) {LOWEST}"
    return 9, [
        (17, table("Jobs, the lowest goodput", "The 50 jobs with the lowest goodput of the last hour. A job's name opens its board.",
                   [query(f"max by (namespace, job, model, layout, precision, queue) (caravan_job_info{{{HERE}}}) {of_these}", table=True),
                    query(LOWEST, table=True),
                    query(f"max by (namespace, job) (caravan_job_progress_ratio{{{HERE}}}) {of_these}", table=True),
                    query(f"max by (namespace, job) (namespace_job:caravan_mfu:ratio_rate5m{{{HERE}}}) {of_these}", table=True),
                    query(f"max by (namespace, job) (namespace_job:caravan_tokens:rate5m{{{HERE}}}) {of_these}", table=True),
                    query(f"max by (namespace, job) (caravan_job_devices{{{HERE}}}) {of_these}", table=True)],
                   {"namespace": "namespace", "job": "job", "model": "model", "layout": "layout", "precision": "precision", "queue": "queue",
                    "Value #F": "devices", "Value #C": "progress", "Value #D": "MFU", "Value #E": "tokens/s", "Value #B": "goodput"},
                   [column("namespace", "none", width=110), column("job", "none", link=TO_JOB), column("model", "none", width=120),
                    column("layout", "none", width=130), column("precision", "none", width=90), column("queue", "none", width=90),
                    column("devices", "none", width=75), column("progress", "percentunit", 0, width=80),
                    column("MFU", "percentunit", 1, width=70), column("tokens/s", "short", 1, width=90),
                    column("goodput", "percentunit", 0, width=80, limits=thresholds(RED, (0.5, YELLOW), (0.9, GREEN)))],
                   hidden=["Value #A"])),
        (7, table("Alerts that fire, all namespaces", "Each with a page in docs/runbooks: what it means, how to look, what to do.",
                  [query(f"sum by (alertname, namespace, job) ({FIRING}) "
                         'or label_replace(vector(0), "alertname", "none", "", "") unless on () ' + FIRING, table=True)],
                  {"alertname": "alert", "namespace": "namespace", "job": "job"}, [column("namespace", "none", width=100),
                                                                                   column("job", "none", width=110)], hidden=["Value #A"]))]


def trouble():
    return 7, [
        (8, timeseries("MFU, the lowest ten", "Over 5 minutes. A job whose line falls is slower than it was: its board says where the step goes.", "percentunit",
                       query(f"bottomk(10, namespace_job:caravan_mfu:ratio_rate5m{{{HERE}}})", "{{namespace}} / {{job}}"),
                       no_value="no peak of a device is known")),
        (8, timeseries("Restarts by reason", "In the last hour, of all jobs. docs/user/kubernetes.md has the reasons.", "none",
                       query(grown(f"caravan_job_restarts_total{{{HERE}}}", "1h", "reason"), "{{reason}}"), stacked=True,
                       no_value="none yet")),
        (8, bargauge("Oldest checkpoints", "Since the last complete one was written, of the ten jobs that would lose most.", "s",
                     f"topk(10, time() - max by (namespace, job) (caravan_checkpoint_last_success_timestamp_seconds{{{HERE}}}))",
                     "{{namespace}} / {{job}}", thresholds(GREEN, (7200, YELLOW), (14400, RED)), decimals=0, no_value="none yet"))]


def build():
    return board("caravan-fleet", "Caravan / Fleet", "All training jobs: states, devices, goodput, MFU against its prediction, waiting, alerts.",
                 [label_variable("namespace", "Namespace", "label_values(caravan_job_info, namespace)")],
                 [headline(), over_time(), worst(), jobs(), trouble()])
