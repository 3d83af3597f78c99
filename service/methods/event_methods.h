// ListEvents: what Kubernetes tells of a job and its pods, asked of the API server as the caller.
#pragma once

#include <optional>
#include <string>

#include "caravan/v1alpha1/job_service.pb.h"
#include "service/methods/caller_client.h"

namespace caravan::service {

// Nothing: the event is about something else. Pods are known by their names, since many are gone.
std::optional<v1alpha1::JobEventRecord> record_of(const kube::Json& event, const std::string& job);

class EventMethods {
 public:
  explicit EventMethods(CallerClients& clients) : clients_(clients) {}

  Answer<v1alpha1::ListEventsResponse> list_events(const Call& call,
                                                   const v1alpha1::ListEventsRequest& request);

 private:
  CallerClients& clients_;
};

}  // namespace caravan::service
