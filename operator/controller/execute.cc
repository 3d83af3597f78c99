#include "operator/controller/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <thread>

#include "operator/api/names.h"
#include "operator/children/certificates.h"
#include "operator/children/worker_pod.h"

namespace caravan::controller {
namespace {

constexpr std::size_t kAtOnce = 32;

kube::ResourcePath path_of(const Job& job, const kube::Resource& resource) {
  return {.resource = resource, .name_space = job.key.name_space};
}

tl::unexpected<ExecuteError> failed(const kube::ApiError& error) {
  constexpr int kTooManyRequests = 429;
  const bool refused = error.kind == kube::ErrorKind::kStatus && error.code >= 400 && error.code < 500 &&
                       error.code != kTooManyRequests && !error.is_conflict() && !error.is_unauthorized();
  return tl::unexpected(ExecuteError{.message = error.message, .refused = refused});
}

bool is_about_pods(const Effect& effect) {
  return std::holds_alternative<CreatePod>(effect) || std::holds_alternative<DeletePod>(effect);
}

// All of them, `width` at a time, until one fails; the first error.
template <typename Do>
Executed at_once(std::span<const Effect> effects, std::size_t width, Do carry_out) {
  std::mutex mutex;
  std::size_t next = 0;
  Executed outcome;
  const auto work = [&] {
    std::unique_lock lock(mutex);
    while (outcome && next < effects.size()) {
      const Effect& mine = effects[next++];
      lock.unlock();
      const Executed done = carry_out(mine);
      lock.lock();
      if (outcome) outcome = done;
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < std::min(width, effects.size()); ++i) others.emplace_back(work);
    work();
  }
  return outcome;
}

}  // namespace

Executed Executor::run(const CallContext& context, const Job& job, const Decision& decision) {
  v1alpha1::JobStatus status = decision.status;
  Executed certified;
  if (decision.new_certificates) certified = make_certificates(context, job, decision.plan.nodes(), status);
  if (text_of(job.status) != text_of(status)) {
    if (Executed written = write_status(context, job, status); !written) return written;
  }
  if (!certified) {
    certified.error().status_written = true;
    return certified;
  }
  const Task task{context, job, decision, status};
  std::span<const Effect> rest(decision.effects);
  std::size_t width = 1;
  while (!rest.empty()) {
    const auto other = std::find_if_not(rest.begin(), rest.end(), is_about_pods);
    const auto pods = static_cast<std::size_t>(other - rest.begin());
    const std::size_t count = std::clamp<std::size_t>(pods, 1, width < kAtOnce ? width : rest.size());
    auto done = at_once(rest.first(count), width, [&](const Effect& e) { return carry_out(task, e); });
    if (!done) {
      done.error().status_written = true;
      return done;
    }
    if (pods > 0) width = std::min(2 * width, kAtOnce);
    rest = rest.subspan(count);
  }
  return {};
}

// What a crash, or a write that fails, leaves of a set is never used and goes with the job.
Executed Executor::make_certificates(const CallContext& context, const Job& job, int nodes,
                                     v1alpha1::JobStatus& status) {
  const auto set = new_certificate_set(job);
  if (!set) return tl::unexpected(ExecuteError{.message = set.error().message});
  for (int i = 0; i < secrets_of(nodes); ++i) {
    const auto secret = certificates_intent(job, *set, i, nodes);
    if (!secret) return tl::unexpected(ExecuteError{.message = secret.error().message});
    const auto created = client_.create(context, path_of(job, kSecrets), *secret);
    if (!created) return failed(created.error());
  }
  status.mutable_certificates()->set_set(set->name);
  status.mutable_certificates()->set_issue_time(to_text(clock_.wall_now()));
  return {};
}

Executed Executor::write_status(const CallContext& context, const Job& job,
                                const v1alpha1::JobStatus& status) {
  const auto written = client_.apply_status(context, path_of(job, kJobs), status_intent(job, status));
  if (written) {
    remember(job, kJobs, *written);
    return {};
  }
  const kube::ApiError& error = written.error();
  if (error.is_conflict() || error.is_not_found())
    return tl::unexpected(ExecuteError{.message = error.message, .overtaken = true});
  return failed(error);
}

Executed Executor::carry_out(const Task& task, const Effect& effect) {
  return std::visit([&](const auto& e) { return carry_out(task, e); }, effect);
}

Executed Executor::carry_out(const Task& task, const CreateChild& effect) {
  const auto created = client_.create(task.context, path_of(task.job, effect.resource), effect.object);
  if (created) {
    remember(task.job, effect.resource, *created);
    return {};
  }
  if (created.error().is_already_exists()) return check_ownership(task, effect);
  return failed(created.error());
}

Executed Executor::carry_out(const Task& task, const ApplyChild& effect) {
  const auto applied = client_.apply(task.context, path_of(task.job, effect.resource), effect.object);
  if (!applied) return failed(applied.error());
  remember(task.job, effect.resource, *applied);
  return {};
}

Executed Executor::carry_out(const Task& task, const CreatePod& effect) {
  const Decision& decision = task.decision;
  const PodRequest request{.node = effect.node,
                           .attempt = decision.status.attempt(),
                           .restarts = decision.status.restarts(),
                           .certificates = task.status.certificates().set(),
                           .product_label = decision.plan.gpu_product()};
  return carry_out(task, CreateChild{kube::kPods, pod_intent(task.job, decision.plan, request, settings_)});
}

Executed Executor::carry_out(const Task& task, const DeletePod& effect) {
  const auto removed =
      client_.remove(task.context, path_of(task.job, kube::kPods), effect.name, {.uid = effect.uid});
  if (!removed && !removed.error().is_not_found() && !removed.error().is_conflict())
    return failed(removed.error());
  if (removed) writes_.deleted(task.job.uid, effect.uid, clock_.now());
  return {};
}

Executed Executor::carry_out(const Task& task, const DeleteJob&) {
  const auto removed =
      client_.remove(task.context, path_of(task.job, kJobs), task.job.key.name, {.uid = task.job.uid});
  if (!removed && !removed.error().is_not_found() && !removed.error().is_conflict())
    return failed(removed.error());
  return {};
}

Executed Executor::check_ownership(const Task& task, const CreateChild& effect) {
  const std::string name = kube::key_of(effect.object).name;
  const auto existing = client_.get(task.context, path_of(task.job, effect.resource), name);
  if (!existing) return failed(existing.error());
  if (kube::ownership_of(*existing, task.job.uid) == kube::Ownership::kOurs) {
    if (effect.restore) return restore(task, effect, kube::uid_of(*existing));
    remember(task.job, effect.resource, *existing);
    return {};
  }
  const bool of_an_earlier_job = kube::controller_key_of(*existing, kKind) == task.job.key;
  return tl::unexpected(ExecuteError{
      .message = fmt::format(
          "{}/{} {}", effect.resource.plural, name,
          of_an_earlier_job ? "belongs to an earlier job of this name; this one waits for it to be gone"
                            : "is there already and does not belong to this job; it is left alone, delete "
                              "it or rename the job"),
      .refused = true});
}

Executed Executor::restore(const Task& task, const CreateChild& effect, const std::string& uid) {
  ApplyChild intent{effect.resource, effect.object};
  intent.object.as_object()["metadata"].as_object()["uid"] = uid;
  return carry_out(task, intent);
}

void Executor::remember(const Job& job, const kube::Resource& resource, const kube::Json& written) {
  writes_.wrote(job.uid, resource.plural, kube::version_of(written), clock_.now());
}

}  // namespace caravan::controller
