#include "service/methods/write_methods.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <array>

#include "kube/api/names.h"
#include "kube/api/timestamp.h"
#include "operator/api/cancellation.h"
#include "operator/api/job_conditions.h"
#include "operator/api/names.h"
#include "service/jobs/job_message.h"
#include "service/jobs/names.h"
#include "service/jobs/resource_name.h"

namespace caravan::service {
namespace {

using kube::Json;
using kube::JsonObject;
using v1alpha1::CreateJobRequest;
using v1alpha1::LlamaTrainingJob;

// What can be told apart and needs no escaping, as the API server's own endings of names.
constexpr std::string_view kNameCharacters = "bcdfghjklmnpqrstvwxz2456789";
constexpr std::size_t kNameEnding = 5;

kube::ResourcePath jobs_of(const std::string& name_space) {
  return {.resource = controller::kJobs, .name_space = name_space};
}

Answer<void> check_request_id(const std::string& id, std::size_t longest) {
  if (id.empty() || kube::is_label_value(id, longest)) return {};
  return bad_field("request_id",
                   fmt::format("expected at most {} letters, digits, '-', '_' and '.', a letter or "
                               "digit at either end",
                               longest));
}

// The same for the same request, so that one that is sent twice makes one job.
std::string ending_of(const std::string& request_id) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(request_id.data()), request_id.size(), digest.data());
  std::string ending;
  for (std::size_t i = 0; i < kNameEnding; ++i) ending += kNameCharacters[digest[i] % kNameCharacters.size()];
  return ending;
}

LlamaTrainingJob as_requested(const CreateJobRequest& request, const std::string& user) {
  LlamaTrainingJob job = request.job();
  v1alpha1::ObjectMeta& metadata = *job.mutable_metadata();
  if (!user.empty() && user.size() <= kLongestAnnotation)
    (*metadata.mutable_annotations())[kCreatedBy] = user;
  if (request.request_id().empty()) return job;
  (*metadata.mutable_labels())[kRequestLabel] = request.request_id();
  if (metadata.name().empty() && !metadata.generate_name().empty())
    metadata.set_name(metadata.generate_name() + ending_of(request.request_id()));
  return job;
}

bool is_cancelled(const v1alpha1::JobStatus& status) {
  const auto* failed = controller::find_condition(status, controller::conditions::kFailed);
  return failed != nullptr && failed->reason() == controller::kCancelledReason;
}

// The API server takes a change of such a job, and nobody obeys it.
Answer<v1alpha1::Job> unless_ended(v1alpha1::Job job) {
  if (!controller::is_finished(job.object().status())) return job;
  Fault ended{.code = Code::kFailedPrecondition,
              .reason = faults::kFinished,
              .message = fmt::format("the job has ended ({})", job.object().status().state())};
  ended.preconditions = {{"state", ended.message}};
  return tl::unexpected(std::move(ended));
}

Answer<v1alpha1::Job> unless_ended_otherwise(v1alpha1::Job job) {
  if (is_cancelled(job.object().status())) return job;
  return unless_ended(std::move(job));
}

Answer<v1alpha1::Job> if_it_keeps_checkpoints(v1alpha1::Job job) {
  auto goes_on = unless_ended(std::move(job));
  if (!goes_on || goes_on->object().spec().has_checkpoint()) return goes_on;
  Fault without{.code = Code::kFailedPrecondition,
                .reason = faults::kNoCheckpoints,
                .message = "the job keeps no checkpoints: it has no spec.checkpoint"};
  without.preconditions = {{"spec.checkpoint", without.message}};
  return tl::unexpected(std::move(without));
}

// Of a change of the version that the etag names, if any.
Fault fault_of_change(const kube::ApiError& error, const std::string& etag) {
  Fault told = caller_fault_of(error);
  if (etag.empty() || !error.is_conflict()) return told;
  return {.code = Code::kAborted,
          .reason = faults::kStaleEtag,
          .message = std::move(told.message),
          .preconditions = {{"etag", "the job has changed since; read it again"}}};
}

bool is_of_request(const Json& object, const std::string& request_id) {
  return kube::text_at(object, {"metadata", "labels", kRequestLabel}) == request_id;
}

}  // namespace

Answer<v1alpha1::Job> WriteMethods::create_job(const Call& call, const CreateJobRequest& request) {
  const auto name_space = namespace_of(request.parent());
  if (!name_space) return tl::unexpected(name_space.error());
  if (auto id = check_request_id(request.request_id(), kube::kLongestLabel); !id)
    return tl::unexpected(id.error());
  const auto object = object_to_create(as_requested(request, call.caller.user), *name_space);
  if (!object) return tl::unexpected(object.error());
  auto client = clients_.client_of(call);
  if (!client) return tl::unexpected(client.error());
  const kube::ResourcePath path = jobs_of(*name_space);
  const auto created = request.validate_only()
                           ? (*client)->try_create(call.context, path, *object)
                           : (*client)->create(call.context, path, *object, kube::UnknownFields::kRefused);
  if (created) return job_message(*created);
  if (created.error().is_already_exists() && !request.request_id().empty()) {
    // The same request, sent again, or what the first one did when its answer was lost.
    const auto there = (*client)->get(call.context, path, kube::key_of(*object).name);
    if (there && is_of_request(*there, request.request_id())) return job_message(*there);
    const bool is_unknown = !there && !there.error().is_not_found() && !there.error().is_forbidden();
    if (is_unknown) return tl::unexpected(caller_fault_of(there.error()));
  }
  return tl::unexpected(caller_fault_of(created.error()));
}

Answer<v1alpha1::Job> WriteMethods::patch(const Call& call, const std::string& name, const std::string& etag,
                                          JsonObject change, Check check) {
  const auto key = job_key_of(name);
  if (!key) return tl::unexpected(key.error());
  auto client = clients_.client_of(call);
  if (!client) return tl::unexpected(client.error());
  const kube::ResourcePath path = jobs_of(key->name_space);
  const auto now = (*client)->get(call.context, path, key->name);
  if (!now && !now.error().is_forbidden()) return tl::unexpected(caller_fault_of(now.error()));
  if (now) {
    if (auto taken = check(job_message(*now)); !taken) return taken;
  }
  if (!etag.empty()) {
    Json& metadata = change["metadata"];
    if (!metadata.is_object()) metadata = JsonObject();
    metadata.get_object()["resourceVersion"] = etag;
  }
  const auto changed = (*client)->merge(call.context, path, key->name, change);
  if (!changed) return tl::unexpected(fault_of_change(changed.error(), etag));
  return check(job_message(*changed));
}

Answer<v1alpha1::Job> WriteMethods::annotate(const Call& call, const std::string& name,
                                             const std::string& etag, const char* annotation,
                                             const std::string& value, Check check) {
  return patch(call, name, etag, {{"metadata", JsonObject{{"annotations", JsonObject{{annotation, value}}}}}},
               check);
}

Answer<v1alpha1::Job> WriteMethods::suspend_job(const Call& call,
                                                const v1alpha1::SuspendJobRequest& request) {
  return patch(call, request.name(), request.etag(), {{"spec", JsonObject{{"suspend", true}}}}, unless_ended);
}

Answer<v1alpha1::Job> WriteMethods::resume_job(const Call& call, const v1alpha1::ResumeJobRequest& request) {
  return patch(call, request.name(), request.etag(), {{"spec", JsonObject{{"suspend", false}}}},
               unless_ended);
}

Answer<v1alpha1::Job> WriteMethods::cancel_job(const Call& call, const v1alpha1::CancelJobRequest& request) {
  return annotate(call, request.name(), request.etag(), controller::annotations::kCancel,
                  controller::kCancelled, unless_ended_otherwise);
}

Answer<v1alpha1::Job> WriteMethods::checkpoint_now(const Call& call,
                                                   const v1alpha1::CheckpointNowRequest& request) {
  if (auto id = check_request_id(request.request_id(), controller::kLongestCheckpointRequest); !id)
    return tl::unexpected(id.error());
  const std::string id =
      request.request_id().empty() ? kube::to_timestamp(clock_.wall_now()) : request.request_id();
  return annotate(call, request.name(), "", controller::annotations::kCheckpoint, id,
                  if_it_keeps_checkpoints);
}

Answer<v1alpha1::DeleteJobResponse> WriteMethods::delete_job(const Call& call,
                                                             const v1alpha1::DeleteJobRequest& request) {
  const auto key = job_key_of(request.name());
  if (!key) return tl::unexpected(key.error());
  auto client = clients_.client_of(call);
  if (!client) return tl::unexpected(client.error());
  const auto removed = (*client)->remove(call.context, jobs_of(key->name_space), key->name,
                                         {.resource_version = request.etag()});
  const bool is_missing = !removed && removed.error().is_not_found() && request.allow_missing();
  if (!removed && !is_missing) return tl::unexpected(fault_of_change(removed.error(), request.etag()));
  return v1alpha1::DeleteJobResponse();
}

}  // namespace caravan::service
