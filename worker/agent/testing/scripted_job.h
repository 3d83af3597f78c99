// For tests: a job whose ranks are the scripted rank (testing/scripted_rank.cc).
#pragma once

#include <filesystem>
#include <string>

#include "caravan/v1alpha1/plan.pb.h"
#include "common/testing/checkout.h"

namespace caravan::agent::testing {

// `ranks` data-parallel ranks on `nodes` nodes.
inline v1alpha1::JobPlan scripted_job(int nodes, int ranks, int steps) {
  v1alpha1::JobPlan job;
  job.set_job_name("scripted");
  job.set_job_uid("uid-1");
  job.set_nodes(nodes);
  job.mutable_spec()->mutable_training()->set_steps(steps);
  v1alpha1::Plan& plan = *job.mutable_plan();
  plan.set_tensor(1);
  plan.set_pipeline(1);
  plan.set_data(ranks);
  plan.set_devices(ranks);
  return job;
}

inline std::string scripted_rank() {
  return (std::filesystem::path(test::program_folder()).parent_path() / "tests" / "caravan-scripted-rank")
      .string();
}

}  // namespace caravan::agent::testing
