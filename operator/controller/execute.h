// Carries a decision out: certificates, the status that names them, then the effects in order, pods several
// at once.
//
// Stops at the first write that fails; the rest is decided again. A status is written only to the version of
// the job that was observed. Creations begin with one and double, so that a quota that is used up costs one
// refused call; a pod is written out when it is sent, so that no more than are on their way take memory. A
// name that is taken already is fine when the object is the job's, and an error when it is not. Every write
// is remembered until the caches have seen it.
#pragma once

#include <string>

#include "kube/client/client.h"
#include "kube/watch/own_writes.h"
#include "operator/controller/effects.h"
#include "operator/controller/settings.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller {

struct ExecuteError {
  std::string message;
  bool refused = false;         // the server understood and said no: users should know
  bool status_written = false;  // or had nothing new to say; what followed failed
  bool overtaken = false;       // the job has changed since it was observed, so that nothing was written
};
using Executed = tl::expected<void, ExecuteError>;

class Executor {
 public:
  Executor(kube::Client& client, kube::OwnWrites& writes, Clock& clock, Settings settings)
      : client_(client), writes_(writes), clock_(clock), settings_(std::move(settings)) {}

  // `job`: as it was observed.
  Executed run(const CallContext& context, const Job& job, const Decision& decision);

 private:
  // Adds them to the status when all are there.
  Executed make_certificates(const CallContext& context, const Job& job, int nodes,
                             v1alpha1::JobStatus& status);
  Executed write_status(const CallContext& context, const Job& job, const v1alpha1::JobStatus& status);
  struct Task {
    const CallContext& context;
    const Job& job;
    const Decision& decision;
    const v1alpha1::JobStatus& status;  // as it was written
  };
  Executed carry_out(const Task& task, const Effect& effect);
  Executed carry_out(const Task& task, const CreateChild& effect);
  Executed carry_out(const Task& task, const ApplyChild& effect);
  Executed carry_out(const Task& task, const CreatePod& effect);
  Executed carry_out(const Task& task, const DeletePod& effect);
  Executed carry_out(const Task& task, const DeleteJob& effect);
  Executed check_ownership(const Task& task, const CreateChild& effect);
  Executed restore(const Task& task, const CreateChild& effect, const std::string& uid);
  void remember(const Job& job, const kube::Resource& resource, const kube::Json& written);

  kube::Client& client_;
  kube::OwnWrites& writes_;
  Clock& clock_;
  Settings settings_;
};

}  // namespace caravan::controller
