// Carries a decision out: certificates, the status that names them, then the effects in order, pods several
// at once.
//
// Stops at the first write that fails; the rest is decided again. Stops also after a batch of Secrets or
// pods, so that a job of thousands leaves its worker to the jobs of others, and threads that help with pods
// are limited over all jobs, so that other calls find a connection. A set of certificates that is not
// complete, or whose status could not be written, is gone on with the next time; one of which a Secret is
// gone is given up before a pod waits for it. A status is written only to the version of the job that was
// observed. Creations begin with one and double, so that a quota that is used up costs one refused call; a
// pod is written out when it is sent, so that no more than are on their way take memory. A name that is taken
// already is fine when the object is the job's, and an error when it is not. Every write is remembered until
// the caches have seen it. Safe from several threads, for different jobs.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <semaphore>
#include <span>
#include <string>

#include "kube/client/client.h"
#include "kube/watch/own_writes.h"
#include "operator/children/certificates.h"
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
// kBatch: there is more to do, which is to be decided again.
enum class Extent { kWhole, kBatch };
using Executed = tl::expected<Extent, ExecuteError>;

class Executor {
 public:
  static constexpr int kSecretsInABatch = 32;
  static constexpr std::size_t kPodsInABatch = 512;
  // Beside the threads of the workers; the client has 64 connections, and tokens and events need some.
  static constexpr std::ptrdiff_t kHelpers = 31;

  // tell: the notes of effects that were carried out. ask_for_checkpoint: by the job's UID and the request;
  // ask_to_stop: by the UID.
  Executor(kube::Client& client, kube::OwnWrites& writes, Clock& clock, Settings settings,
           std::function<void(const Job&, const Note&)> tell,
           std::function<void(const std::string&, const std::string&)> ask_for_checkpoint,
           std::function<void(const std::string&)> ask_to_stop)
      : client_(client),
        writes_(writes),
        clock_(clock),
        settings_(std::move(settings)),
        tell_(std::move(tell)),
        ask_for_checkpoint_(std::move(ask_for_checkpoint)),
        ask_to_stop_(std::move(ask_to_stop)) {}

  // `job`: as it was observed.
  Executed run(const CallContext& context, const Job& job, const Decision& decision);
  // The job is gone.
  void forget(const std::string& job_uid);

 private:
  using Done = tl::expected<void, ExecuteError>;

  // That the status does not name yet.
  struct UnfinishedSet {
    CertificateSet certificates;
    int nodes = 0;
    int next = 0;  // index of the Secret to be made
  };
  // For the pods that the decision makes.
  bool lacks_certificates(const CallContext& context, const Job& job, const Decision& decision);
  Executed give_certificates_up(const CallContext& context, const Job& job, v1alpha1::JobStatus status);
  // Adds them to the status when all are there.
  Executed make_certificates(const CallContext& context, const Job& job, int nodes,
                             v1alpha1::JobStatus& status);
  // Only the run of its job touches it.
  Result<UnfinishedSet*> unfinished_set(const Job& job, int nodes);
  Executed make_secrets(const CallContext& context, const Job& job, UnfinishedSet& unfinished);
  Done write_status(const CallContext& context, const Job& job, const v1alpha1::JobStatus& status);
  struct Task {
    const CallContext& context;
    const Job& job;
    const Decision& decision;
    const v1alpha1::JobStatus& status;  // as it was written
  };
  Executed carry_out_all(const Task& task);
  Done carry_out_at_once(const Task& task, std::span<const Effect> effects, std::size_t width);
  Done carry_out(const Task& task, const Effect& effect);
  Done carry_out(const Task& task, const CreateChild& effect);
  Done carry_out(const Task& task, const ApplyChild& effect);
  Done carry_out(const Task& task, const MergeStatus& effect);
  Done carry_out(const Task& task, const DeleteChild& effect);
  Done carry_out(const Task& task, const CreatePod& effect);
  Done carry_out(const Task& task, const DeletePod& effect);
  Done carry_out(const Task& task, const DeleteJob& effect);
  Done carry_out(const Task& task, const AskForCheckpoint& effect);
  Done carry_out(const Task& task, const AskToStop& effect);
  Done check_ownership(const Task& task, const CreateChild& effect);
  Done restore(const Task& task, const CreateChild& effect, const std::string& uid);
  Done remove(const Task& task, const kube::Resource& resource, const std::string& name,
              const kube::DeleteOptions& options);
  Done make_anew(const Task& task, const ApplyChild& effect);
  void tell(const Job& job, const std::vector<Note>& notes);
  void remember(const Job& job, const kube::Resource& resource, const kube::Json& written);

  kube::Client& client_;
  kube::OwnWrites& writes_;
  Clock& clock_;
  Settings settings_;
  std::function<void(const Job&, const Note&)> tell_;
  std::function<void(const std::string&, const std::string&)> ask_for_checkpoint_;
  std::function<void(const std::string&)> ask_to_stop_;
  std::counting_semaphore<> helpers_{kHelpers};
  std::mutex mutex_;
  std::map<std::string, UnfinishedSet> unfinished_;  // by job UID
};

}  // namespace caravan::controller
