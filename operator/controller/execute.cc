#include "operator/controller/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>

#include "operator/api/conditions.h"
#include "operator/api/names.h"
#include "operator/children/certificates.h"
#include "operator/children/job_objects.h"
#include "operator/children/worker_pod.h"
#include "operator/controller/machine_policy.h"

namespace caravan::controller {
namespace {

constexpr std::size_t kAtOnce = 32;
constexpr int kUnprocessable = 422;

kube::ResourcePath path_of(const Job& job, const kube::Resource& resource) {
  return {.resource = resource, .name_space = job.key.name_space};
}

// What no API server can mend by itself, though it calls it an error of its own.
struct Blockage {
  std::string_view words;  // in its message
  std::string_view advice;
};
constexpr std::array<Blockage, 2> kBlockages{
    {{"failed calling webhook",
      "see whether the program behind that webhook runs, or remove its webhook configuration"},
     {"field not declared in schema",
      "the definition of that resource is older than this operator: apply the one that came with it, or take "
      "the operator back first"}}};

tl::unexpected<ExecuteError> failed(const kube::ApiError& error) {
  constexpr int kTooManyRequests = 429;
  const bool refused = error.kind == kube::ErrorKind::kStatus && error.code >= 400 && error.code < 500 &&
                       error.code != kTooManyRequests && !error.is_conflict() && !error.is_unauthorized();
  for (const auto& [words, advice] : kBlockages) {
    if (error.message.find(words) != std::string::npos)
      return tl::unexpected(
          ExecuteError{.message = fmt::format("{}; {}", error.message, advice), .refused = true});
  }
  return tl::unexpected(ExecuteError{.message = error.message, .refused = refused});
}

// The server may have filled in more.
bool has_all_of(const kube::Json& there, const kube::Json& wanted) {
  if (!wanted.is_object()) return there == wanted;
  return there.is_object() && std::ranges::all_of(wanted.get_object(), [&](const auto& field) {
           const kube::Json* value = there.get_object().if_contains(field.key());
           return value != nullptr && has_all_of(*value, field.value());
         });
}

bool is_about_pods(const Effect& effect) {
  return std::holds_alternative<CreatePod>(effect) || std::holds_alternative<DeletePod>(effect);
}

}  // namespace

Executed Executor::run(const CallContext& context, const Job& job, const Decision& decision) {
  v1alpha1::JobStatus status = decision.status;
  if (lacks_certificates(context, job, decision))
    return give_certificates_up(context, job, std::move(status));
  Executed certified = Extent::kWhole;
  if (decision.new_certificates) certified = make_certificates(context, job, decision.plan.nodes(), status);
  if (text_of(job.status) != text_of(status)) {
    if (Done written = write_status(context, job, status); !written) return tl::unexpected(written.error());
  }
  if (decision.new_certificates && certified == Extent::kWhole) forget(job.uid);
  Executed executed =
      certified == Extent::kWhole ? carry_out_all({context, job, decision, status}) : certified;
  if (!executed) executed.error().status_written = true;
  return executed;
}

void Executor::forget(const std::string& job_uid) {
  const std::scoped_lock lock(mutex_);
  unfinished_.erase(job_uid);
}

// Somebody may have deleted a Secret, and pods that mount it would never start. The operator may make Secrets
// and read none: it asks what would become of making it. Where nobody answers, or another rule refuses, it
// may be there.
bool Executor::lacks_certificates(const CallContext& context, const Job& job, const Decision& decision) {
  if (decision.new_certificates) return false;
  std::set<int> mounted;
  std::size_t pods = 0;
  for (const Effect& effect : decision.effects) {
    const auto* pod = std::get_if<CreatePod>(&effect);
    if (pod != nullptr && pods++ < kPodsInABatch) mounted.insert(secret_of(pod->node));
  }
  for (const int index : mounted) {
    const kube::Json secret = secret_outline(job, decision.status.certificates().set(), index);
    const auto tried = client_.try_create(context, path_of(job, kSecrets), secret);
    if (tried) return true;
    if (!tried.error().is_already_exists()) return false;
  }
  return false;
}

// The next decision makes a set, and the gang with it.
Executed Executor::give_certificates_up(const CallContext& context, const Job& job,
                                        v1alpha1::JobStatus status) {
  status.clear_certificates();
  if (Done written = write_status(context, job, status); !written) return tl::unexpected(written.error());
  tell_(job,
        {.type = kube::EventType::kWarning,
         .reason = reasons::kCertificatesLost,
         .action = conditions::kRunning,
         .text =
             "a Secret with the certificates of the job's agents was gone; all its pods are made again with "
             "new ones"});
  return Extent::kBatch;
}

// What a crash leaves of a set is never used and goes with the job.
Executed Executor::make_certificates(const CallContext& context, const Job& job, int nodes,
                                     v1alpha1::JobStatus& status) {
  const auto unfinished = unfinished_set(job, nodes);
  if (!unfinished) return tl::unexpected(ExecuteError{.message = unfinished.error().message});
  Executed made = make_secrets(context, job, **unfinished);
  if (made == Extent::kWhole) {
    status.mutable_certificates()->set_set((*unfinished)->certificates.name);
    status.mutable_certificates()->set_issue_time(to_text(clock_.wall_now()));
  }
  return made;
}

Result<Executor::UnfinishedSet*> Executor::unfinished_set(const Job& job, int nodes) {
  const std::scoped_lock lock(mutex_);
  const auto known = unfinished_.find(job.uid);
  const bool goes_on = known != unfinished_.end() && known->second.nodes == nodes &&
                       known->second.certificates.name != job.status.certificates().set();
  if (goes_on) return &known->second;
  auto begun = new_certificate_set(job);
  if (!begun) return tl::unexpected(begun.error());
  UnfinishedSet& unfinished = unfinished_[job.uid];
  unfinished = {.certificates = std::move(*begun), .nodes = nodes};
  return &unfinished;
}

Executed Executor::make_secrets(const CallContext& context, const Job& job, UnfinishedSet& unfinished) {
  const int all = secrets_of(unfinished.nodes);
  const int end = std::min(all, unfinished.next + kSecretsInABatch);
  for (; unfinished.next < end; ++unfinished.next) {
    const auto secret = certificates_intent(job, unfinished.certificates, unfinished.next, unfinished.nodes);
    if (!secret) return tl::unexpected(ExecuteError{.message = secret.error().message});
    const auto created = client_.create(context, path_of(job, kSecrets), *secret);
    // One that is there already is ours, made by a call whose answer was lost: nobody else knows the name.
    if (!created && !created.error().is_already_exists()) return failed(created.error());
  }
  return end == all ? Extent::kWhole : Extent::kBatch;
}

Executor::Done Executor::write_status(const CallContext& context, const Job& job,
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

Executed Executor::carry_out_all(const Task& task) {
  std::span<const Effect> rest(task.decision.effects);
  std::size_t width = 1;
  std::size_t left = kPodsInABatch;
  while (!rest.empty()) {
    const auto other = std::find_if_not(rest.begin(), rest.end(), is_about_pods);
    const auto pods = static_cast<std::size_t>(other - rest.begin());
    if (pods > 0 && left == 0) return Extent::kBatch;
    const std::size_t some = std::min({pods, left, width < kAtOnce ? width : left});
    const std::size_t count = std::max<std::size_t>(some, 1);
    if (Done done = carry_out_at_once(task, rest.first(count), width); !done)
      return tl::unexpected(done.error());
    if (pods > 0) width = std::min(2 * width, kAtOnce);
    left -= some;
    rest = rest.subspan(count);
  }
  return Extent::kWhole;
}

// All of them until one fails, `width` at a time as far as there are helpers; the first error.
Executor::Done Executor::carry_out_at_once(const Task& task, std::span<const Effect> effects,
                                           std::size_t width) {
  std::mutex mutex;
  std::size_t next = 0;
  Done outcome;
  const auto do_one = [&](std::unique_lock<std::mutex>& lock) {
    if (!outcome || next == effects.size()) return false;
    const Effect& mine = effects[next++];
    lock.unlock();
    const Done done = carry_out(task, mine);
    lock.lock();
    if (outcome) outcome = done;
    return true;
  };
  const auto help = [&] {
    std::unique_lock lock(mutex);
    while (do_one(lock)) {
    }
    helpers_.release();
  };
  std::vector<std::jthread> helpers;
  const auto add_helper = [&] {
    if (!helpers_.try_acquire()) return false;
    try {
      helpers.emplace_back(help);
    } catch (const std::system_error&) {  // the machine has no thread left
      helpers_.release();
      return false;
    }
    return true;
  };
  std::unique_lock lock(mutex);
  do {
    while (helpers.size() + 1 < std::min(width, effects.size()) && next + 1 < effects.size() &&
           add_helper()) {
    }
  } while (do_one(lock));
  lock.unlock();
  helpers.clear();
  return outcome;
}

Executor::Done Executor::carry_out(const Task& task, const Effect& effect) {
  return std::visit([&](const auto& e) { return carry_out(task, e); }, effect);
}

Executor::Done Executor::carry_out(const Task& task, const CreateChild& effect) {
  const auto created = client_.create(task.context, path_of(task.job, effect.resource), effect.object);
  if (created) {
    if (effect.is_watched) remember(task.job, effect.resource, *created);
    tell(task.job, effect.notes);
    return {};
  }
  if (created.error().is_already_exists()) return check_ownership(task, effect);
  return failed(created.error());
}

Executor::Done Executor::carry_out(const Task& task, const ApplyChild& effect) {
  const auto applied = client_.apply(task.context, path_of(task.job, effect.resource), effect.object);
  const bool may_be_immutable = effect.resource == kConfigMaps;
  if (!applied && applied.error().code == kUnprocessable && may_be_immutable) return make_anew(task, effect);
  if (!applied) return failed(applied.error());
  if (effect.is_watched) remember(task.job, effect.resource, *applied);
  tell(task.job, effect.notes);
  return {};
}

Executor::Done Executor::carry_out(const Task& task, const CreatePod& effect) {
  const Decision& decision = task.decision;
  const PodRequest request{.node = effect.node,
                           .attempt = decision.status.attempt(),
                           .first_attempt_of_plan = first_attempt_of_plan(decision.status),
                           .restarts = decision.status.restarts(),
                           .short_attempts = decision.status.short_attempts(),
                           .certificates = task.status.certificates().set(),
                           .image = decision.status.worker_image(),
                           .product_label = decision.plan.gpu_product(),
                           .avoided_machines = avoided_machines(decision.status),
                           .placement = &decision.placement};
  return carry_out(task, CreateChild{kube::kPods, pod_intent(task.job, decision.plan, request, settings_)});
}

Executor::Done Executor::carry_out(const Task& task, const DeletePod& effect) {
  return remove(task, kube::kPods, effect.name, {.uid = effect.uid, .resource_version = effect.version});
}

Executor::Done Executor::carry_out(const Task& task, const DeleteChild& effect) {
  return remove(task, effect.resource, effect.name, {.uid = effect.uid});
}

Executor::Done Executor::remove(const Task& task, const kube::Resource& resource, const std::string& name,
                                const kube::DeleteOptions& options) {
  const auto removed = client_.remove(task.context, path_of(task.job, resource), name, options);
  const bool has_changed = !removed && removed.error().is_conflict();
  if (!removed && !removed.error().is_not_found() && !has_changed) return failed(removed.error());
  // One of another version may stay: what has changed in it is a reason to look again when the caches see it.
  if (has_changed && !options.resource_version.empty()) return {};
  writes_.deleted(task.job.uid, options.uid, clock_.now());  // that one is gone in any case
  return {};
}

Executor::Done Executor::carry_out(const Task& task, const MergeStatus& effect) {
  const auto merged =
      client_.merge_status(task.context, path_of(task.job, effect.resource), effect.name, effect.patch);
  if (merged) {
    remember(task.job, effect.resource, *merged);
    return {};
  }
  const kube::ApiError& error = merged.error();
  if (error.is_conflict() || error.is_not_found())
    return tl::unexpected(ExecuteError{.message = error.message, .overtaken = true});
  return failed(error);
}

Executor::Done Executor::carry_out(const Task& task, const DeleteJob&) {
  const auto removed =
      client_.remove(task.context, path_of(task.job, kJobs), task.job.key.name, {.uid = task.job.uid});
  if (!removed && !removed.error().is_not_found() && !removed.error().is_conflict())
    return failed(removed.error());
  return {};
}

Executor::Done Executor::carry_out(const Task& task, const AskForCheckpoint& effect) {
  ask_for_checkpoint_(task.job.uid, effect.request);
  return {};
}

Executor::Done Executor::carry_out(const Task& task, const AskToStop&) {
  ask_to_stop_(task.job.uid);
  return {};
}

Executor::Done Executor::check_ownership(const Task& task, const CreateChild& effect) {
  const std::string name = kube::key_of(effect.object).name;
  const auto existing = client_.get(task.context, path_of(task.job, effect.resource), name);
  if (!existing) return failed(existing.error());
  if (kube::ownership_of(*existing, task.job.uid) == kube::Ownership::kOurs) {
    if (effect.restore && !has_all_of(*existing, effect.object))
      return restore(task, effect, kube::uid_of(*existing));
    if (effect.is_watched) remember(task.job, effect.resource, *existing);
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

Executor::Done Executor::restore(const Task& task, const CreateChild& effect, const std::string& uid) {
  ApplyChild intent{effect.resource, effect.object, effect.is_watched, effect.notes};
  intent.object.as_object()["metadata"].as_object()["uid"] = uid;
  return carry_out(task, intent);
}

// A ConfigMap that cannot be changed any more, because somebody has made it immutable.
Executor::Done Executor::make_anew(const Task& task, const ApplyChild& effect) {
  const auto& [name_space, name] = kube::key_of(effect.object);
  const auto removed = client_.remove(task.context, path_of(task.job, effect.resource), name,
                                      {.uid = kube::uid_of(effect.object)});
  if (!removed && !removed.error().is_not_found()) return failed(removed.error());
  kube::Json object = effect.object;
  object.as_object()["metadata"].as_object().erase("uid");
  const auto created = client_.create(task.context, path_of(task.job, effect.resource), object);
  if (!created) return failed(created.error());
  remember(task.job, effect.resource, *created);
  tell(task.job, effect.notes);
  return {};
}

void Executor::tell(const Job& job, const std::vector<Note>& notes) {
  for (const Note& note : notes) tell_(job, note);
}

void Executor::remember(const Job& job, const kube::Resource& resource, const kube::Json& written) {
  writes_.wrote(job.uid, resource.plural, kube::version_of(written), clock_.now());
}

}  // namespace caravan::controller
