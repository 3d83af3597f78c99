// Every method that changes a job: a write to the API server as the caller, which alone decides whether he
// may.
//
// Each is one write that leaves nothing half done, and harmless when it is sent again: a creation by its
// request_id, the others since they say how the job is to be, not what is to be done to it. What a job does
// not take is refused before it is written, and behind that only where the job has ended meanwhile, or who
// changes it may not read it.
#pragma once

#include "caravan/v1alpha1/job_service.pb.h"
#include "service/methods/caller_client.h"

namespace caravan::service {

class WriteMethods {
 public:
  WriteMethods(CallerClients& clients, Clock& clock) : clients_(clients), clock_(clock) {}

  Answer<v1alpha1::Job> create_job(const Call& call, const v1alpha1::CreateJobRequest& request);
  Answer<v1alpha1::Job> suspend_job(const Call& call, const v1alpha1::SuspendJobRequest& request);
  Answer<v1alpha1::Job> resume_job(const Call& call, const v1alpha1::ResumeJobRequest& request);
  Answer<v1alpha1::Job> cancel_job(const Call& call, const v1alpha1::CancelJobRequest& request);
  Answer<v1alpha1::Job> checkpoint_now(const Call& call, const v1alpha1::CheckpointNowRequest& request);
  Answer<v1alpha1::DeleteJobResponse> delete_job(const Call& call, const v1alpha1::DeleteJobRequest& request);

 private:
  // The job where it takes the change, else why it does not.
  using Check = Answer<v1alpha1::Job> (*)(v1alpha1::Job job);

  Answer<v1alpha1::Job> patch(const Call& call, const std::string& name, const std::string& etag,
                              kube::JsonObject change, Check check);
  Answer<v1alpha1::Job> annotate(const Call& call, const std::string& name, const std::string& etag,
                                 const char* annotation, const std::string& value, Check check);

  CallerClients& clients_;
  Clock& clock_;
};

}  // namespace caravan::service
