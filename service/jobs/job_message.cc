#include "service/jobs/job_message.h"

#include <fmt/format.h>

#include "common/json.h"
#include "common/schema/loader.h"
#include "operator/api/document_tree.h"
#include "operator/api/job_object.h"
#include "operator/api/names.h"
#include "operator/api/read_message.h"
#include "service/jobs/resource_name.h"

namespace caravan::service {
namespace {

using v1alpha1::LlamaTrainingJob;

// What a request leaves out since there is but one answer.
LlamaTrainingJob with_kind(const LlamaTrainingJob& given) {
  LlamaTrainingJob job = given;
  if (job.api_version().empty()) job.set_api_version(controller::kApiVersion);
  if (job.kind().empty()) job.set_kind(controller::kKind);
  job.clear_status();
  return job;
}

kube::Json document_of(const LlamaTrainingJob& job) {
  return kube::parse_json(to_json(job), "a job").value();
}

Fault refusal(const std::vector<schema::Diagnostic>& mistakes) {
  Fault refused{.code = Code::kInvalidArgument, .reason = faults::kInvalidJob};
  for (const schema::Diagnostic& mistake : mistakes) {
    refused.fields.push_back({mistake.path.empty() ? "job" : "job." + mistake.path, mistake.text});
    refused.message +=
        fmt::format("{}{}: {}", refused.message.empty() ? "" : "; ", mistake.path, mistake.text);
  }
  return refused;
}

}  // namespace

v1alpha1::Job job_message(const kube::Json& object) {
  v1alpha1::Job job;
  job.set_name(name_of(kube::key_of(object)));
  job.set_uid(kube::uid_of(object));
  job.set_etag(kube::version_of(object));
  job.set_create_time(kube::text_at(object, {"metadata", "creationTimestamp"}));
  job.set_delete_time(kube::text_at(object, {"metadata", "deletionTimestamp"}));
  // What cannot be read is told by the operator, in the job's conditions and events.
  static_cast<void>(
      controller::read_message(object, *job.mutable_object(), controller::Unknown::kDropped).has_value());
  return job;
}

Answer<LlamaTrainingJob> completed_job(const LlamaTrainingJob& job) {
  LlamaTrainingJob loaded;
  const auto diagnostics = schema::load_message(controller::to_node(document_of(with_kind(job))), loaded);
  if (!diagnostics.errors.empty()) return tl::unexpected(refusal(diagnostics.errors));
  return loaded;
}

Answer<kube::Json> object_to_create(const LlamaTrainingJob& job, const std::string& name_space) {
  if (const std::string& given = job.metadata().namespace_(); !given.empty() && given != name_space)
    return bad_field("job.metadata.namespace",
                     fmt::format("expected {}, as in parent, or nothing", name_space));
  LlamaTrainingJob whole = with_kind(job);
  whole.mutable_metadata()->set_namespace_(name_space);
  if (auto loaded = completed_job(whole); !loaded) return tl::unexpected(std::move(loaded.error()));
  return document_of(whole);
}

}  // namespace caravan::service
