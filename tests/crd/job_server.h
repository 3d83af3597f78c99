// A real API server, named by KUBECONFIG, that knows the resource of deploy/helm/caravan/files/crds/. Each
// one has a namespace of its own.
#pragma once

#include <string>
#include <vector>

#include "tests/kube/server_client.h"

namespace caravan::kube::testing {

inline const Resource kJobs{
    .group = "training.caravan.dev", .version = "v1alpha1", .plural = "llamatrainingjobs"};

// What the server says about one field.
struct Cause {
  std::string field;
  std::string message;

  // The message without the value in front, which the server shows in its own way.
  std::string sentence() const;
};

struct Answer {
  int status = 0;
  Json body = {};

  bool is_success() const { return status >= 200 && status < 300; }
  std::string message() const { return text_at(body, {"message"}); }
  std::vector<Cause> causes() const;
  // Whether the server refused the field with just that sentence.
  bool refuses(const std::string& field, const std::string& sentence) const;
};

std::string contents_of(const std::string& path);  // relative to the repository

// A job of `pods` pods with two ranks each on processors. more: further fields of the spec, in flow style.
std::string job_yaml(int pods = 2, const std::string& more = "", const std::string& name = "train");

class JobServer {
 public:
  JobServer();

  const std::string& name_space() const { return name_space_; }
  ResourcePath jobs() const { return {.resource = kJobs, .name_space = name_space_}; }
  Client& client() { return server_.client; }

  // Sends the text as it is, as kubectl would after reading it: unknown fields are errors.
  Answer create(const std::string& yaml) { return send("POST", "", "application/yaml", yaml); }
  // The same without a job in the end.
  Answer try_out(const std::string& yaml) {
    return send("POST", "", "application/yaml", yaml, {{"dryRun", "All"}});
  }
  // target: what follows the collection's path, such as "/demo/status".
  Answer merge(const std::string& target, const Json& patch);
  Answer apply(const std::string& target, const Json& intent, const std::string& manager);
  // Anything else.
  Answer call(const HttpRequest& request);
  // What the kubelet would put into that pod; without a pod: what anybody with the account can get.
  std::string token(const std::string& account, const std::string& audience, const Json* pod);
  // Until that user may do that to jobs here: the server goes by a copy of roles and bindings, which is a
  // moment behind what was written.
  void await_right(const std::string& user, const std::string& verb);
  // The object as `kubectl get` shows it.
  Answer table();

 private:
  Answer send(const std::string& method, const std::string& target, const std::string& type,
              const std::string& body, Query query = {});
  bool install();
  bool apply_definition();

  ServerClient server_;
  std::string name_space_;
};

}  // namespace caravan::kube::testing
