// The planner's one way in: a job's spec and the devices it gets in, the chosen layout with its prediction
// out.
//
// Pure: same request and profile, same bytes. Errors: exit code 2 for a job that contradicts itself (the
// field is named), 3 when no layout fits (the message names the smallest number of devices, and the smallest
// change, that would fit).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "caravan/v1alpha1/job.pb.h"
#include "caravan/v1alpha1/plan.pb.h"
#include "common/result.h"
#include "planner/device/catalogue.h"
#include "planner/model/shape.h"

namespace caravan::planner {

struct EngineProfile;  // planner/engine_profile.h: the constants of a trainer

// One whose memory and cores all ranks share, in equal parts.
struct SharedMachine {
  int64_t memory_bytes = 0;
  int cores = 1;

  int64_t memory_per_rank(int ranks) const { return memory_bytes / ranks; }
  int threads_per_rank(int ranks) const { return std::max(1, cores / ranks); }
};

// What the job does not say about its devices.
struct DeviceFacts {
  // Used where spec.resources.device.memory is absent and the product is unknown.
  std::optional<int64_t> memory_bytes = {};
  // Of ranks on CPUs in local mode; its parts come before memory_bytes.
  std::optional<SharedMachine> machine = {};
  std::optional<int> devices_per_node = {};
  // Of a rank on a CPU: each needs working memory of its own.
  int threads_per_rank = 1;
  // Of the user's catalogue file; they come before the built-in ones.
  std::vector<DeviceProduct> own_products = {};
};

struct PlanOptions {
  bool all_candidates = false;  // also the layouts that the rule would never pick
  // Where nothing fits: which number of devices and which change of the job would do. Takes as long as
  // planning does.
  bool says_what_would_do = true;
  // Asked before each layout is judged. True: planning ends without an answer, whose error says so.
  std::function<bool()> gives_up = {};
};

// The model's shape by preset (with a vocabulary of the job's own, where it gives one) or architecture.
Result<ModelShape> resolve_model_shape(const v1alpha1::Model& model);

// What is wrong with a job whatever devices it gets, and however many of them a node has: bad input, as of
// plan_job. Whether it fits is not asked. spec: with defaults applied.
Status check_job(const v1alpha1::JobSpec& spec, const EngineProfile& profile);

// What there is to say also when there is no plan.
struct PlanAnswer {
  v1alpha1::PlanReport report;  // without a plan, but with candidates, when none fits
  std::optional<Error> error;
  std::vector<std::string> warnings = {};  // whole sentences that begin with the field
};

PlanAnswer answer_job(const v1alpha1::JobSpec& spec, const DeviceFacts& facts, const EngineProfile& profile,
                      const PlanOptions& options = {});

// spec: with defaults applied.
Result<v1alpha1::PlanReport> plan_job(const v1alpha1::JobSpec& spec, const DeviceFacts& facts,
                                      const EngineProfile& profile, const PlanOptions& options = {});

// A plan that was tried, and what its ranks have shown: they ran out of memory, since one use of it took more
// than was predicted.
struct TriedPlan {
  v1alpha1::Plan plan;
  v1alpha1::MemoryCorrection correction;
};

// The next layout of such a job, on the same devices: with that correction, and one that needs clearly less
// memory than the one that ran out of it. What the user fixed stays fixed. facts: those of the first plan.
// Errors as of plan_job: code 3 where no other layout fits.
Result<v1alpha1::PlanReport> plan_again(const TriedPlan& before, const v1alpha1::JobSpec& spec,
                                        const DeviceFacts& facts, const EngineProfile& profile);

}  // namespace caravan::planner
