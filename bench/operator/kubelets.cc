// Plays scheduler and kubelets for all pods of jobs: binds each one and writes the status of one that runs,
// of the size that a kubelet of Kubernetes 1.34 writes. Nothing runs.
//
// Usage: operator_kubelets KUBECONFIG, until SIGTERM.
#include <csignal>
#include <cstdlib>

#include "bench/operator/connected_client.h"
#include "kube/queue/reconcile_loop.h"
#include "kube/watch/informer.h"
#include "operator/api/names.h"

namespace caravan::bench {
namespace {

using kube::Json;
using kube::JsonArray;
using kube::JsonObject;
using kube::ObjectKey;

constexpr const char* kNow = "2030-01-01T00:00:05Z";
const kube::Resource kBindings{.group = "", .version = "v1", .plural = "bindings"};

// What is needed to see what is left to do.
std::optional<Json> kept(const Json& pod) {
  JsonObject spec;
  if (const Json* node = kube::find(pod, {"spec", "nodeName"})) spec["nodeName"] = *node;
  JsonObject metadata = pod.at("metadata").as_object();
  for (const char* unread : {"managedFields", "labels", "ownerReferences"}) metadata.erase(unread);
  return JsonObject{{"metadata", std::move(metadata)},
                    {"spec", std::move(spec)},
                    {"status", JsonObject{{"phase", kube::text_at(pod, {"status", "phase"})}}}};
}

JsonArray conditions() {
  JsonArray all;
  for (const char* type :
       {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"})
    all.push_back(JsonObject{{"type", type},
                             {"status", "True"},
                             {"observedGeneration", 1},
                             {"lastProbeTime", nullptr},
                             {"lastTransitionTime", kNow}});
  return all;
}

JsonObject container_status() {
  JsonArray mounts;
  for (const char* path : {"/etc/caravan", "/etc/caravan-tls", "/dev/shm", "/tmp", "/data", "/checkpoints"})
    mounts.push_back(JsonObject{
        {"name", path + 1}, {"mountPath", path}, {"readOnly", true}, {"recursiveReadOnly", "Disabled"}});
  const std::string digest(64, 'd');
  return {{"name", "worker"},
          {"image", "registry.example/caravan-worker:1"},
          {"imageID", "registry.example/caravan-worker@sha256:" + digest},
          {"containerID", "containerd://" + digest},
          {"ready", true},
          {"started", true},
          {"restartCount", 0},
          {"state", JsonObject{{"running", JsonObject{{"startedAt", kNow}}}}},
          {"allocatedResources", JsonObject{{"cpu", "8"}, {"memory", "64Gi"}}},
          {"resources", JsonObject{{"requests", JsonObject{{"cpu", "8"}, {"memory", "64Gi"}}},
                                   {"limits", JsonObject{{"memory", "64Gi"}}}}},
          {"user", JsonObject{{"linux", JsonObject{{"uid", 65532}, {"gid", 65532}}}}},
          {"volumeMounts", std::move(mounts)}};
}

JsonObject running_status() {
  return {{"phase", "Running"},
          {"observedGeneration", 1},
          {"hostIP", "10.0.0.17"},
          {"hostIPs", JsonArray{JsonObject{{"ip", "10.0.0.17"}}}},
          {"podIP", "10.1.2.3"},
          {"podIPs", JsonArray{JsonObject{{"ip", "10.1.2.3"}}}},
          {"startTime", kNow},
          {"conditions", conditions()},
          {"containerStatuses", JsonArray{container_status()}}};
}

class Kubelets {
 public:
  explicit Kubelets(const std::string& kubeconfig)
      : connected_(kubeconfig),
        pods_(
            connected_.client, connected_.clock, kube::system_random(), connected_.observer,
            {.path = {.resource = kube::kPods}, .label_selector = controller::labels::kJobUid, .keep = kept},
            [this](const kube::Change& change) {
              if (change.after) queue_.add(change.after->key());
            }) {}

  void run_until(int signal) {
    pods_.start();
    loop_.start();
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, signal);
    sigwait(&wanted, &signal);
    loop_.stop();
  }

 private:
  tl::expected<kube::Action, kube::ReconcileError> reconcile(const CallContext& context,
                                                             const ObjectKey& key) {
    const kube::ObjectPtr pod = pods_.store().get(key);
    if (!pod) return kube::Action::done();
    const kube::ApiStatus done = advance(context, key, *pod);
    if (done) return kube::Action::done();
    fmt::print(stderr, "pod {}: {}\n", key.name, done.error().message);
    return tl::unexpected(kube::ReconcileError{.message = done.error().message});
  }

  kube::ApiStatus advance(const CallContext& context, const ObjectKey& key, const kube::CachedObject& pod) {
    kube::Client& client = connected_.client;
    const kube::ResourcePath pods{.resource = kube::kPods, .name_space = key.name_space};
    if (pod.is_being_deleted()) return client.remove(context, pods, key.name, {.grace_period_seconds = 0});
    const Json seen = pod.parse();
    if (kube::text_at(seen, {"status", "phase"}) == "Running") return {};
    if (kube::find(seen, {"spec", "nodeName"}) == nullptr) {
      if (const auto bound = bind(context, key); !bound) return tl::unexpected(bound.error());
    }
    return client
        .apply_status(context, pods,
                      JsonObject{{"apiVersion", "v1"},
                                 {"kind", "Pod"},
                                 {"metadata", JsonObject{{"name", key.name}, {"namespace", key.name_space}}},
                                 {"status", running_status()}})
        .map([](const Json&) {});
  }

  kube::ApiResult<Json> bind(const CallContext& context, const ObjectKey& key) {
    return connected_.client.create(
        context, {.resource = kBindings, .name_space = key.name_space},
        JsonObject{{"apiVersion", "v1"},
                   {"kind", "Binding"},
                   {"metadata", JsonObject{{"name", key.name}}},
                   {"target", JsonObject{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", "machine"}}}});
  }

  ConnectedClient connected_;
  kube::WorkQueue queue_{connected_.clock};
  kube::Informer pods_;
  kube::ReconcileLoop loop_{
      queue_,
      connected_.clock,
      kube::system_random(),
      connected_.observer,
      {.workers = 16},
      [this](const CallContext& context, const ObjectKey& key) { return reconcile(context, key); },
      [] { return std::vector<ObjectKey>(); }};
};

}  // namespace
}  // namespace caravan::bench

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: {} KUBECONFIG\n", argv[0]);
    return EXIT_FAILURE;
  }
  // Blocked before any thread begins, so that only run_until() takes it.
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  caravan::bench::Kubelets(argv[1]).run_until(SIGTERM);
  return EXIT_SUCCESS;
}
