// What a decision asks for, as values. execute.h carries it out in this order: new certificates, the status,
// which names them, then the effects one after another, then the events.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "caravan/v1alpha1/job.pb.h"
#include "caravan/v1alpha1/plan.pb.h"
#include "kube/api/json.h"
#include "kube/api/resource_path.h"
#include "kube/events/event_series.h"
#include "operator/children/pod_placement.h"
#include "operator/controller/look_again.h"

namespace caravan::controller {

struct Note {
  kube::EventType type = kube::EventType::kNormal;
  std::string reason = {};
  std::string action = {};
  std::string text = {};
};

// Never adopts: a name that a foreign object has is an error.
struct CreateChild {
  kube::Resource resource;
  kube::Json object;
  bool restore = false;  // one that is ours, but hidden from the caches, is brought back to the intent
  bool is_watched = true;
  std::vector<Note> notes = {};  // told once that is done
};
// Brings a child that is ours back to the intent, which holds its UID.
struct ApplyChild {
  kube::Resource resource;
  kube::Json object;
  bool is_watched = true;
  std::vector<Note> notes = {};  // told once that is done
};
// A JSON merge patch of the status of an object that others write, too: it names the version that was read,
// and one that is older is decided again.
struct MergeStatus {
  kube::Resource resource;
  std::string name;
  kube::Json patch;
};
struct DeleteChild {
  kube::Resource resource;
  std::string name;
  std::string uid;
};
// The node alone: a gang may have thousands, and each is written out when it is sent.
struct CreatePod {
  int node = 0;
};
struct DeletePod {
  std::string name;
  std::string uid;
  // Of a pod that is deleted since it has no machine, the resourceVersion that was seen: one that has changed
  // stays, and is decided on anew when that is seen. Empty: whatever has become of it.
  std::string version = {};
};
struct DeleteJob {};
// Of its coordinator, when that reports next: again with each decision until it is answered, since whoever
// was asked may be gone. The request's name keeps it from being answered twice.
struct AskForCheckpoint {
  std::string request;
};
// Of its coordinator, which ends all agents: it hears of it at once, if it reports.
struct AskToStop {};
using Effect = std::variant<CreateChild, ApplyChild, MergeStatus, DeleteChild, CreatePod, DeletePod,
                            DeleteJob, AskForCheckpoint, AskToStop>;

struct Decision {
  v1alpha1::JobStatus status = {};
  // A set of certificates for the pods that are made. Its name and bytes differ each time, so they are no
  // part of this.
  bool new_certificates = false;
  std::vector<Effect> effects = {};
  v1alpha1::JobPlan plan = {};  // of the pods that are made
  PodPlacement placement = {};  // of them
  // Of its ConfigMap once this is carried out; empty when nobody looked.
  std::string plan_fingerprint = {};
  std::vector<Note> notes = {};  // of the status
  LookAgain look_again = {};
};

}  // namespace caravan::controller
