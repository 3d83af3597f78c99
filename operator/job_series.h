// The series of jobs, from the cache and the ledger. Those of a job that ended disappear 15 minutes later,
// those of a deleted one at once. Pure.
#pragma once

#include <prometheus/metric_family.h>

#include <map>
#include <string>
#include <vector>

#include "kube/watch/store.h"
#include "operator/job_ledger.h"

namespace caravan::controller {

prometheus::MetricFamily gauge_family(const std::string& name, const std::string& help);
void add_gauge(prometheus::MetricFamily& family, double value,
               std::vector<prometheus::ClientMetric::Label> labels = {});

std::vector<prometheus::MetricFamily> job_series(const kube::Store& jobs,
                                                 const std::map<std::string, JobLedger::Account>& accounts,
                                                 TimePoint now);
// GPUs of the nodes that may get pods, by resource.
prometheus::MetricFamily node_series(const kube::Store& nodes);

}  // namespace caravan::controller
