// Decisions on jobs that are new or run, and what of them tests look at.
#pragma once

#include <fmt/format.h>

#include <string>
#include <variant>
#include <vector>

#include "operator/api/conditions.h"
#include "operator/children/plan_object.h"
#include "operator/controller/decide.h"
#include "operator/testing/jobs.h"

namespace caravan::controller::testing {

// "create pods/train-0-a1", "delete train-0-a1", ...
inline std::vector<std::string> effects_of(const Decision& decision) {
  struct Name {
    int attempt;
    std::string operator()(const CreateChild& e) const {
      return fmt::format("create {}/{}", e.resource.plural, kube::key_of(e.object).name);
    }
    std::string operator()(const ApplyChild& e) const {
      return fmt::format("apply {}/{}", e.resource.plural, kube::key_of(e.object).name);
    }
    std::string operator()(const MergeStatus& e) const {
      return fmt::format("merge status of {}/{}", e.resource.plural, e.name);
    }
    std::string operator()(const DeleteChild& e) const {
      return fmt::format("delete {}/{}", e.resource.plural, e.name);
    }
    std::string operator()(const CreatePod& e) const {
      return fmt::format("create pods/train-{}-a{}", e.node, attempt);
    }
    std::string operator()(const DeletePod& e) const { return "delete " + e.name; }
    std::string operator()(const DeleteJob&) const { return "delete the job"; }
    std::string operator()(const AskForCheckpoint& e) const { return "ask for a checkpoint " + e.request; }
    std::string operator()(const AskToStop&) const { return "ask to stop"; }
  };
  std::vector<std::string> names;
  if (decision.new_certificates) names.emplace_back("create certificates");
  for (const Effect& effect : decision.effects)
    names.push_back(std::visit(Name{decision.status.attempt()}, effect));
  return names;
}

// Reasons of the events that follow from effects.
inline std::vector<std::string> told_when_done(const Decision& decision) {
  std::vector<std::string> reasons;
  const auto notes_of = [](const auto& effect) -> std::vector<Note> {
    if constexpr (requires { effect.notes; }) return effect.notes;
    return {};
  };
  for (const Effect& effect : decision.effects) {
    for (const Note& note : std::visit(notes_of, effect)) reasons.push_back(note.reason);
  }
  return reasons;
}

inline Snapshot new_job(const std::string& spec_more = "") {
  return {.job = job(spec_more)};
}

// What the decision writes into the plan's ConfigMap.
inline const kube::Json* written_plan(const Decision& decision) {
  for (const Effect& effect : decision.effects) {
    if (const auto* made = std::get_if<CreateChild>(&effect); made && made->resource == kConfigMaps)
      return &made->object;
    if (const auto* made = std::get_if<ApplyChild>(&effect)) return &made->object;
  }
  return nullptr;
}

// With everything made, both pods running, in its first attempt.
inline Snapshot running_job(const std::string& spec_more = "") {
  Snapshot snapshot = new_job(spec_more);
  Decision first = decide(snapshot, settings(), kStart);
  if (const kube::Json* plan = written_plan(first))
    snapshot.plan = {.uid = "plan", .fingerprint = fingerprint_of(*plan), .written = fingerprint_of(*plan)};
  know_children(snapshot);
  snapshot.pods = {running_pod(0), running_pod(1)};
  snapshot.progress = JobProgress{.attempt = 1};
  snapshot.job.status = first.status;
  snapshot.job.status.mutable_certificates()->set_set(kCertificates);
  snapshot.job.status.mutable_certificates()->set_issue_time(to_text(kStart));
  snapshot.job.status = decide(snapshot, settings(), kStart).status;
  return snapshot;
}

// Its pods run, and their agents have not met yet.
inline Snapshot meeting_job() {
  Snapshot snapshot = running_job();
  snapshot.progress.reset();
  snapshot.job.status = decide(new_job(), settings(), kStart).status;
  return snapshot;
}

inline Decision decide_at(const Snapshot& snapshot, TimePoint now = kStart) {
  return decide(snapshot, settings(), now);
}

inline const v1alpha1::Condition& condition(const Decision& decision, const char* type) {
  static const v1alpha1::Condition kNone;
  const auto* found = find_condition(decision.status, type);
  return found == nullptr ? kNone : *found;
}

}  // namespace caravan::controller::testing
