// A client of the API server that a kubeconfig names, with all that it is made of.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "common/testing/await.h"
#include "kube/client/client.h"
#include "kube/config/config_credentials.h"
#include "kube/config/kubeconfig.h"
#include "kube/election/elector.h"
#include "kube/transport/pooled_transport.h"

namespace caravan::kube::testing {

inline const Resource kConfigMaps{.group = "", .version = "v1", .plural = "configmaps"};
inline const Resource kNamespaces{.group = "", .version = "v1", .plural = "namespaces"};

using ::caravan::test::await;

class CountsWarnings final : public Observer {
 public:
  void on_warning(const std::string&) override { ++warnings; }
  void on_relist(std::string_view) override { ++relists; }

  std::atomic<int> warnings{0};
  std::atomic<int> relists{0};
};

struct ServerClient {
  explicit ServerClient(const std::vector<std::string>& files = kubeconfig_files(),
                        const std::string& context = "")
      : config(load(files, context)) {}

  static ClientConfig load(const std::vector<std::string>& files, const std::string& context) {
    auto config = load_kubeconfig(files, context, read_json_document);
    if (!config) ADD_FAILURE() << config.error().message;
    return config.value_or(ClientConfig{});
  }

  // A new namespace, so that tests do not see each other's objects.
  std::string make_namespace() {
    const std::string identity = process_identity();
    const std::string name = "t-" + identity.substr(identity.size() - 16);
    const auto created = client.create(
        {}, {.resource = kNamespaces},
        JsonObject{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", JsonObject{{"name", name}}}});
    if (!created) ADD_FAILURE() << created.error().message;
    await_policies(name);
    return name;
  }

  // Admission policies judge by a copy of the namespaces: for a moment they know nothing of a new one, and
  // refuse jobs there, where jobs are known.
  void await_policies(const std::string& name_space) {
    const Json job =
        parse_json(
            R"({"apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob", "metadata": {"name": "a"},
            "spec": {"model": {"preset": "llama-tiny"}, "data": {"path": "a.bin"}, "resources": {"devices": 1},
                     "training": {"steps": 1, "sequenceLength": 8, "globalBatchSequences": 1}}})",
            "job")
            .value();
    const ResourcePath jobs{
        .resource = {.group = "training.caravan.dev", .version = "v1alpha1", .plural = "llamatrainingjobs"},
        .name_space = name_space};
    const std::string unknown = "namespace \"" + name_space + "\" not found";
    await([&] {
      const auto tried = client.try_create({}, jobs, job);
      return tried || tried.error().message.find(unknown) == std::string::npos;
    });
  }

  SystemClock clock;
  CountsWarnings observer;
  ClientConfig config;
  ConfigCredentials credentials{config, clock};
  PooledTransport transport{{.server = config.server}, credentials, clock};
  Client client{transport, credentials, clock, system_random(), {}, observer};
};

// As an installation brings it: without a holder.
inline void make_lease(Client& client, const ObjectKey& key) {
  const JsonObject lease{{"apiVersion", "coordination.k8s.io/v1"},
                         {"kind", "Lease"},
                         {"metadata", JsonObject{{"namespace", key.name_space}, {"name", key.name}}}};
  const auto created = client.create({}, {.resource = kLeases, .name_space = key.name_space}, lease);
  if (!created) ADD_FAILURE() << created.error().message;
}

inline Json config_map(const std::string& name_space, const std::string& name, const std::string& value) {
  return JsonObject{
      {"apiVersion", "v1"},
      {"kind", "ConfigMap"},
      {"metadata",
       JsonObject{{"name", name}, {"namespace", name_space}, {"labels", JsonObject{{"app", "test"}}}}},
      {"data", JsonObject{{"key", value}}}};
}

}  // namespace caravan::kube::testing
