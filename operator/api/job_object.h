// A LlamaTrainingJob as the API server holds it, read into the schema's messages, and its status written
// back.
//
// Reading never fails as a whole. The API server may serve a definition older or newer than this schema: what
// its rules let through and ours do not is told in the sentences of the loader, and fields that we do not
// know are named; the spec holds what stands there all the same. Of the metadata only the name is ours to
// judge.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "caravan/v1alpha1/job.pb.h"
#include "kube/api/object.h"

namespace caravan::controller {

using TimePoint = std::chrono::system_clock::time_point;

struct Job {
  kube::ObjectKey key = {};
  std::string uid = {};
  int generation = 0;
  TimePoint created_at{};
  bool being_deleted = false;
  std::string checkpoint_request = {};  // value of the annotation that asks for a checkpoint
  // As far as the caches keep them; what children get of them says inherited_metadata.h.
  std::map<std::string, std::string> labels = {};
  std::map<std::string, std::string> annotations = {};
  kube::JsonObject reference = {};  // apiVersion, kind and metadata: what owner references and events need
  v1alpha1::JobSpec spec = {};
  v1alpha1::JobStatus status = {};
  kube::JsonObject later_status = {};      // what a later version remembers in it; written back as it is
  std::string unreadable_status = {};      // why; empty when it can be read
  std::string unreadable_spec = {};        // the same; then the spec holds a part of it
  std::vector<std::string> mistakes = {};  // "spec.training.steps: must be ..."
  std::vector<std::string> unknown_fields = {};  // "spec.training.rate"
};

Job read_job(const kube::Json& object);
// Its two halves, for job_reader.h: the first leaves the spec empty, the second fills it in.
Job read_job_but_spec(const kube::Json& object);
void read_spec(const kube::Json& object, Job& job);

// It is being deleted, or another controller looks after it.
bool is_left_alone(const Job& job);
// By the plan; 0 before there is one.
int ranks_per_node(const Job& job);

// What is applied to the status subresource. It names the job's UID and the version that was read, so the
// server refuses it with a conflict when the job has changed since, or another one has its name: whoever
// decided on an older picture, such as a leader that does not know of the job's end, writes nothing. (It is
// the version that the server compares; it looks at the UID in writes of the whole object only.)
kube::Json status_intent(const Job& job, const v1alpha1::JobStatus& status);

// Two statuses that say the same are equal as texts.
std::string text_of(const v1alpha1::JobStatus& status);

// RFC 3339 in whole seconds, as metav1.Time.
std::string to_text(TimePoint time);
std::optional<TimePoint> to_time(const std::string& text);

}  // namespace caravan::controller
