"""One job: how fast, how well, with how much memory, and what holds it up."""

from panels import (BLUE, COLORS_OF_TIME, GREEN, RED, YELLOW, annotation, bargauge, board, column, gauge, grown, label_variable, query,
                    stat, table, thresholds, timeseries)

JOB = 'namespace="$namespace",job="$job"'  # an empty namespace is that of `caravan run`, which has no such label
RATE = "[5m]"  # as the rules have it: a step may take as long as Grafana's rate interval
OVER = "Over 5 minutes, or fewer while the job is younger."
NO_PEAK = "peak of the device not known"
NO_OPERATOR = "known to the operator only"
NO_CHECKPOINTS = "none yet"
NO_GPU = "known of GPUs only"


def lately(expression, recorded=None):
    """A rate, as `expression` has it of a window. Over 5 minutes a job that is younger would be told to do less than it does."""
    is_older = f"and on () sum(caravan_steps_total{{{JOB}}} offset 5m)"
    return f"({recorded or expression(RATE)} {is_older}) or on () ({expression('[$__rate_interval]')})"


def flops(kind, window):
    return f"sum(rate(caravan_{kind}_flops_total{{{JOB}}}{window}))"


MFU = lately(lambda window: f"{flops('model', window)} / sum(caravan_device_peak_flops{{{JOB}}})",
             f"max(namespace_job:caravan_mfu:ratio_rate5m{{{JOB}}})")
PREDICTED_MFU = f"max(caravan_predicted_mfu_ratio{{{JOB}}})"
TOKENS = lately(lambda window: f"sum(rate(caravan_tokens_total{{{JOB}}}{window}))", f"max(namespace_job:caravan_tokens:rate5m{{{JOB}}})")
MODEL_FLOPS = lately(lambda window: f"{flops('model', window)} / count(caravan_steps_total{{{JOB}}})")
HARDWARE_FLOPS = lately(lambda window: f"{flops('hardware', window)} / count(caravan_steps_total{{{JOB}}})")
GOODPUT = f"max(namespace_job:caravan_goodput:ratio_rate1h{{{JOB}}})"
PHASE_SECONDS = f"sum by (phase) (rate(caravan_phase_seconds_total{{{JOB}}}{RATE}))"
ALL_PHASES = f"scalar(sum(rate(caravan_phase_seconds_total{{{JOB}}}{RATE})))"


def quantile(part, metric):
    return f"histogram_quantile({part}, sum by (le) (rate({metric}_bucket{{{JOB}}}{RATE})))"


def per_step(metric):
    """Of each rank."""
    return f"sum by (rank) (rate({metric}{RATE})) / sum by (rank) (rate(caravan_steps_total{{{JOB}}}{RATE}) > 0)"


def headline():
    return 4, [
        (3, stat("MFU", f"Useful floating point operations as a part of the devices' peak. {OVER} Recomputed ones do not "
                 "count. Absent where nobody knows the peak, as on most processors: FLOP/s, beside it, are known everywhere.",
                 "percentunit", MFU, decimals=1, no_value=NO_PEAK)),
        (3, stat("MFU predicted", "What the plan promised before the job began. A job that stays far below waits for something: see "
                 "where the step goes.", "percentunit", PREDICTED_MFU, decimals=1, no_value=NO_PEAK)),
        (3, stat("FLOP/s per device", f"Useful floating point operations a second of one device, the mean over the job's. {OVER}",
                 "flops", MODEL_FLOPS, decimals=1)),
        (3, stat("Tokens/s", f"Tokens that the whole job trains on in a second. {OVER}", "short", TOKENS, decimals=1)),
        (3, stat("Loss", "Training loss of the last step.", "none", f"max(caravan_loss{{{JOB}}})", decimals=4)),
        (3, gauge("Progress", "Steps done of all steps.", "percentunit", f"max(caravan_job_progress_ratio{{{JOB}}})", decimals=0,
                  no_value=NO_OPERATOR)),
        (3, gauge("Goodput, 1 h", "Time in which steps were made that had not been made before, as a part of all time of the last "
                  "hour. The panel of where the time goes says what took the rest.", "percentunit", GOODPUT,
                  thresholds(RED, (0.5, YELLOW), (0.9, GREEN)), decimals=0, no_value=NO_OPERATOR)),
        (3, stat("Restarts", "Of the whole gang, since the operator began to look after the job. Reasons stand below.", "none",
                 f"sum(caravan_job_restarts_total{{{JOB}}}) or 0 * max(caravan_job_info{{{JOB}}})",
                 thresholds(GREEN, (1, YELLOW), (5, RED)), no_value=NO_OPERATOR))]


def speed():
    return 8, [
        (8, timeseries("MFU, measured and predicted", f"{OVER} Also of the last step alone, and as planned. Compare a job with its own past and with its prediction, not with other jobs.", "percentunit",
                       query(MFU, "measured"), query(f"avg(caravan_mfu_ratio{{{JOB}}})", "last step"), query(PREDICTED_MFU, "predicted"),
                       dashed=["predicted"], no_value=NO_PEAK)),
        (8, timeseries("FLOP/s per device", "Useful ones, and all that were executed: the difference is activation checkpointing, which "
                       f"computes parts of the forward again. {OVER}", "flops", query(MODEL_FLOPS, "useful"), query(HARDWARE_FLOPS, "executed"))),
        (8, timeseries("Tokens/s", f"Of the whole job. {OVER}", "short", query(TOKENS, "tokens/s")))]


def step():
    work = f'sum(rate(caravan_phase_seconds_total{{{JOB},phase="communication"}}{RATE})) / {ALL_PHASES}'
    axes = f"sum by (axis) (rate(caravan_collective_seconds_total{{{JOB}}}{RATE})) / {ALL_PHASES}"
    return 8, [
        (8, timeseries("Step time", "Of the steps of 5 minutes half were no longer than p50, all but one in a hundred no longer than p99, as well as "
                       "the histogram's buckets tell; the mean is exact. p99 far above p50: something comes and goes, such as checkpoints, "
                       "the file system or another tenant.", "s",
                       query(quantile(0.5, "caravan_step_duration_seconds"), "p50"),
                       query(quantile(0.99, "caravan_step_duration_seconds"), "p99"),
                       query(f"sum(rate(caravan_step_duration_seconds_sum{{{JOB}}}{RATE}))"
                             f" / sum(rate(caravan_step_duration_seconds_count{{{JOB}}}{RATE}))", "mean"))),
        (8, timeseries("Where the step goes", "Parts of the ranks' time by phase, over 5 minutes. Waiting for another rank is communication, and so is the "
                       "bubble of a pipeline; idle is what nothing else accounts for.", "percentunit",
                       query(f"{PHASE_SECONDS} / {ALL_PHASES}", "{{phase}}"), stacked=True, maximum=1)),
        (8, timeseries("Exposed communication", "The part of the ranks' time in which they wait for others, over 5 minutes, and by axis how long "
                       "collectives took, also where computing hid them. Pipeline high: the bubble or stages that differ. Data high: the "
                       "network between replicas. Tensor high: links within a node.", "percentunit",
                       query(work, "exposed"), query(axes, "{{axis}}")))]


def learning():
    return 8, [
        (8, timeseries("Loss", "Training loss of each step, and validation loss where the job evaluates.", "none",
                       query(f"max(caravan_loss{{{JOB}}})", "training"), query(f"max(caravan_validation_loss{{{JOB}}})", "validation"),
                       minimum=None)),
        (8, timeseries("Gradient norm", "Before clipping. Spikes come before a loss that diverges.", "none",
                       query(f"max(caravan_grad_norm{{{JOB}}})", "global norm"), minimum=0)),
        (8, timeseries("Learning rate", "Of the last step: warm-up, then the schedule's decay.", "sci",
                       query(f"max(caravan_learning_rate{{{JOB}}})", "learning rate")))]


def memory():
    ratio = f"max by (rank) (caravan_device_memory_peak_bytes{{{JOB}}} / caravan_device_memory_limit_bytes{{{JOB}}})"
    return 8, [
        (10, timeseries("Memory of the fullest rank", "In tensors, held by the allocator and at most so far, against what the plan "
                        "predicted; beside it, against what the job may use. Above the prediction: the alert CaravanMemoryNearLimit tells before it ends.",
                        "bytes", query(f"max(caravan_device_memory_allocated_bytes{{{JOB}}})", "in tensors"),
                        query(f"max(caravan_device_memory_reserved_bytes{{{JOB}}})", "held by the allocator"),
                        query(f"max(caravan_device_memory_peak_bytes{{{JOB}}})", "peak"),
                        query(f"max(caravan_predicted_memory_peak_bytes{{{JOB}}})", "peak predicted"), dashed=["peak predicted"])),
        (7, bargauge("Memory peak of the limit, by rank", "The fullest 16 ranks.", "percentunit", f"topk(16, {ratio})", "rank {{rank}}",
                     thresholds(GREEN, (0.9, YELLOW), (0.95, RED)), maximum=1, decimals=1)),
        (7, timeseries("Bytes in collectives", f"Sent and received by all ranks, by axis and operation. {OVER}", "Bps",
                       query(lately(lambda window: f"sum by (axis, op) (rate(caravan_collective_bytes_total{{{JOB}}}{window}))"), "{{axis}} {{op}}")))]


def ranks():
    own = f'caravan_phase_seconds_total{{{JOB},phase=~"data|forward|backward|optimizer"}}'
    waiting = f'caravan_phase_seconds_total{{{JOB},phase="communication"}}'
    slowest = f"topk(64, {per_step(own)})"
    of_these = f"and on (rank) {slowest}"
    return 9, [
        (12, table("Ranks, the slowest first", "The 64 slowest: seconds of a step that a rank works by itself and waits for others, over 5 minutes, and its "
                   "work against the median of the ranks of its stage, which do the same: 1.2 and more holds up all others.",
                   [query(slowest, table=True), query(f"{per_step(waiting)} {of_these}", table=True),
                    query(f"max by (rank) (caravan_rank_slowdown_ratio{{{JOB}}}) {of_these}", table=True),
                    query(f"max by (rank) (caravan_device_memory_peak_bytes{{{JOB}}}) {of_these}", table=True),
                    query(f"sum by (rank) (caravan_oom_total{{{JOB}}}) {of_these}", table=True)],
                   {"rank": "rank", "Value #A": "own work", "Value #B": "waiting", "Value #C": "against its stage",
                    "Value #D": "memory peak", "Value #E": "out of memory"},
                   [column("rank", "none", width=70), column("own work", "s", width=110), column("waiting", "s", width=110),
                    column("against its stage", "none", 2, width=140, limits=thresholds(GREEN, (1.1, YELLOW), (1.2, RED))),
                    column("memory peak", "bytes", width=120), column("out of memory", "none", limits=thresholds(GREEN, (1, RED)))],
                   order="own work")),
        (12, timeseries("Where the job's time goes", "As the operator counts it, in the mean of 15 minutes, since it is told with a step: every moment has one kind. Productive is goodput; rework is "
                        "steps that an earlier attempt had made; a checkpoint stall is training that waits for one.", "percentunit",
                        query(f"sum by (category) (rate(caravan_job_time_seconds_total{{{JOB}}}[15m]))", "{{category}}"),
                        stacked=True, maximum=1, colors=COLORS_OF_TIME, no_value=NO_OPERATOR))]


def checkpoints_and_restarts():
    return 6, [
        (4, stat("Last checkpoint", "How long ago the last complete one was written.", "s",
                 f"time() - max(caravan_checkpoint_last_success_timestamp_seconds{{{JOB}}})", no_value=NO_CHECKPOINTS)),
        (4, stat("Step of it", "Training would go on from here.", "none", f"max(caravan_checkpoint_last_step{{{JOB}}})",
                 no_value=NO_CHECKPOINTS)),
        (4, stat("Size of it", "In bytes on the volume.", "bytes", f"max(caravan_checkpoint_bytes{{{JOB}}})", no_value=NO_CHECKPOINTS)),
        (6, timeseries("Checkpoints", "How long they take from their step to their end, how often one is meant to begin at least, and how "
                       "many failed in the last hour.", "s",
                       query(f"sum(caravan_checkpoint_duration_seconds_sum{{{JOB}}}) / sum(caravan_checkpoint_duration_seconds_count{{{JOB}}})",
                             "mean duration"),
                       query(f"max(caravan_checkpoint_interval_seconds{{{JOB}}})", "interval"),
                       query(f"sum(increase(caravan_checkpoint_failures_total{{{JOB}}}[1h]))", "failed in an hour (number)"),
                       dashed=["interval"], no_value=NO_CHECKPOINTS)),
        (6, timeseries("Restarts and steps left out", "Restarts by reason, and steps whose loss or gradient was not finite, both in the last "
                       "hour.", "none", query(grown(f"caravan_job_restarts_total{{{JOB}}}", "1h", "reason"), "{{reason}}"),
                       query(f"sum(increase(caravan_nonfinite_steps_total{{{JOB}}}[1h]))", "not finite")))]


def gpus():
    """The last line, so that nothing is missing between others where there are none."""
    at = f"{{{JOB}}}"
    return 7, [
        (8, timeseries("Clocks", "Of the slowest GPU, and of the slowest one's memory. Lower than before: see what keeps them down.", "hertz",
                       query(f"min(caravan_device_clock_hertz{at})", "processors"),
                       query(f"min(caravan_device_memory_clock_hertz{at})", "memory"), no_value=NO_GPU)),
        (8, timeseries("Power of the hungriest GPU", "And the power at which it lowers its clocks.", "watt",
                       query(f"max(caravan_device_power_watts{at})", "power"), query(f"min(caravan_device_power_limit_watts{at})", "limit"),
                       dashed=["limit"], no_value=NO_GPU)),
        (4, timeseries("Temperature", "Of the hottest GPU, whose clocks go down first.", "celsius", query(f"max(caravan_device_temperature_celsius{at})", "hottest"),
                       no_value=NO_GPU)),
        (4, timeseries("GPUs kept down", "How many have clocks that something keeps down, by reason. power_cap is usual under full load.", "none",
                       query(f"sum by (reason) (caravan_device_throttled{at})", "{{reason}}"), stacked=True, no_value=NO_GPU))]


def build():
    return board(
        "caravan-job", "Caravan / Job", "One training job: MFU measured and predicted, where a step goes, loss, memory, ranks, goodput.",
        [label_variable("namespace", "Namespace", "label_values(caravan_steps_total, namespace)", everything=False),
         label_variable("job", "Job", 'label_values(caravan_steps_total{namespace="$namespace"}, job)', everything=False)],
        [headline(), speed(), step(), learning(), memory(), ranks(), checkpoints_and_restarts(), gpus()],
        [annotation("Checkpoints", f"caravan_checkpoint_last_success_timestamp_seconds{{{JOB}}} * 1000", BLUE, "checkpoint",
                    value_is_time=True),
         annotation("Restarts", grown(f"caravan_job_restarts_total{{{JOB}}}", "$__rate_interval", "reason") + " > 0", RED,
                    "restart: {{reason}}")])
