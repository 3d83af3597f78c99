// Jobs for the planner's tests.
#pragma once

#include <string>
#include <vector>

#include "planner/engine_profile.h"
#include "planner/layout.h"
#include "planner/plan.h"
#include "planner/request.h"

namespace caravan::planner {

// The built-in one, read once.
const EngineProfile& default_profile();

// bf16, sequence length 8192, 2048 sequences a step.
v1alpha1::JobSpec gpu_job(const std::string& preset, int devices, const std::string& product = "H100-80GB");

// fp32, sequence length 64, 24 sequences a step.
v1alpha1::JobSpec cpu_job(const std::string& preset, int devices);

// The request of a job that is known to be good.
PlanRequest request_of(const v1alpha1::JobSpec& spec);

// A layout for that request, layers split evenly.
Layout layout_of(const PlanRequest& request, int tensor, int pipeline, int data);

// Different requests, a sample of the same ones every time: presets, devices, sequence lengths, batches,
// fixed choices.
std::vector<v1alpha1::JobSpec> many_jobs();

// A third of these.
std::vector<v1alpha1::JobSpec> few_jobs();

}  // namespace caravan::planner
