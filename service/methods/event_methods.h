// ListEvents: what Kubernetes tells of a job and its pods, asked of the API server as the caller.
//
// However many events there are, the latest ones are held at a time, and no others.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "caravan/v1alpha1/job_service.pb.h"
#include "service/methods/caller_client.h"

namespace caravan::service {

// Nothing: the event is about something else. Pods are known by their names, since many are gone.
std::optional<v1alpha1::JobEventRecord> record_of(const kube::Json& event, const std::string& job);

class LatestEvents {
 public:
  static constexpr std::size_t kMost = 1000;

  explicit LatestEvents(std::string job) : job_(std::move(job)) {}

  // Of the namespace; those that are about something else are passed over.
  void take(const kube::Json& event);
  // The page that the request asks for, the oldest first.
  Answer<v1alpha1::ListEventsResponse> page(const v1alpha1::ListEventsRequest& request) const;

 private:
  using Place = std::pair<std::string, std::string>;  // its time, and its name, which only one has

  const std::string job_;
  std::map<Place, v1alpha1::JobEventRecord> events_;
};

class EventMethods {
 public:
  explicit EventMethods(CallerClients& clients) : clients_(clients) {}

  Answer<v1alpha1::ListEventsResponse> list_events(const Call& call,
                                                   const v1alpha1::ListEventsRequest& request);

 private:
  CallerClients& clients_;
};

}  // namespace caravan::service
