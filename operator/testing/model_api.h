// An API server's objects in memory, behind the client's transport: enough of creation, apply, status and
// deletion for the operator's own calls. A write that names a resourceVersion or a UID must name the
// object's, as far as a real server asks: in a write of the status it takes any UID. What is immutable can be
// deleted only.
#pragma once

#include <boost/json/serialize.hpp>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "kube/api/object.h"
#include "kube/transport/transport.h"
#include "kube/watch/store.h"

namespace caravan::controller::testing {

class ModelApi final : public kube::Transport {
 public:
  using Objects = std::map<std::string, kube::Json>;  // by name

  kube::ApiResult<kube::HttpResponse> call(const CallContext&, const kube::HttpRequest& request) override {
    const std::scoped_lock lock(mutex_);
    return answer(request);
  }
  kube::ApiResult<std::unique_ptr<kube::HttpStream>> open(const CallContext&,
                                                          const kube::HttpRequest&) override {
    return kube::api_failure(kube::ErrorKind::kUnreachable, "there are no watches here");
  }

  Objects& of(const std::string& plural) { return objects_[plural]; }
  void put(const std::string& plural, kube::Json object) {
    touch(object);
    const std::string name = kube::key_of(object).name;
    objects_[plural][name] = std::move(object);
  }

  // What a cache that is up to date holds; what changes in it by that.
  std::vector<kube::Change> fill(kube::Store& store, const std::string& plural) {
    kube::JsonArray items;
    for (const auto& [name, object] : objects_[plural]) items.push_back(object);
    return store.replace(std::move(items), std::to_string(version_));
  }

 private:
  struct Target {
    std::string plural;
    std::string name;
    bool status = false;
  };

  static Target parse(const std::string& target) {
    std::vector<std::string> parts;
    std::string part;
    for (const char c : target.substr(0, target.find('?')) + "/") {
      if (c != '/') {
        part += c;
      } else if (!part.empty()) {
        parts.push_back(std::exchange(part, ""));
      }
    }
    const auto name_space = std::find(parts.begin(), parts.end(), "namespaces");
    const auto rest = std::vector<std::string>(name_space + 2, parts.end());
    return {.plural = rest[0],
            .name = rest.size() > 1 ? rest[1] : "",
            .status = rest.size() > 2 && rest[2] == "status"};
  }

  static kube::HttpResponse reply(int code, const kube::Json& body) {
    return {.head = {.status = code}, .body = boost::json::serialize(body)};
  }
  static kube::HttpResponse refuse(int code, const char* reason) {
    return reply(
        code, kube::JsonObject{{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", reason}});
  }

  // Or says nothing of that field.
  static bool names(const kube::Json& object, const kube::Json& body, const char* in, const char* field) {
    const std::string wanted = kube::text_at(body, {in, field});
    return wanted.empty() || wanted == kube::text_at(object, {"metadata", field});
  }

  kube::HttpResponse answer(const kube::HttpRequest& request) {
    const Target target = parse(request.target);
    Objects& all = objects_[target.plural];
    if (request.method == "POST") {
      return create(all, kube::parse_json(request.body, "body").value(),
                    request.target.find("dryRun=All") == std::string::npos);
    }
    const auto found = all.find(target.name);
    if (found == all.end()) return refuse(404, "NotFound");
    if (request.method == "GET") return reply(200, found->second);
    const kube::Json body =
        request.body.empty() ? kube::Json() : kube::parse_json(request.body, "body").value();
    if (request.method == "DELETE") {
      if (!names(found->second, body, "preconditions", "uid") ||
          !names(found->second, body, "preconditions", "resourceVersion"))
        return refuse(409, "Conflict");
      all.erase(found);
      ++version_;
      return reply(200, kube::JsonObject{{"kind", "Status"}});
    }
    if (!target.status && !names(found->second, body, "metadata", "uid")) return refuse(422, "Invalid");
    if (!names(found->second, body, "metadata", "resourceVersion")) return refuse(409, "Conflict");
    auto& object = found->second.as_object();
    if (kube::find(found->second, {"immutable"}) != nullptr) return refuse(422, "Invalid");
    const auto parts = target.status ? std::vector{"status"} : std::vector{"data", "spec"};
    for (const char* part : parts) {
      if (const kube::Json* given = kube::find(body, {part})) object[part] = *given;
    }
    if (const kube::Json* given = kube::find(body, {"metadata", "annotations"}))
      object["metadata"].as_object()["annotations"] = *given;
    touch(found->second);
    return reply(200, found->second);
  }

  // keeps: else it is only tried out.
  kube::HttpResponse create(Objects& all, kube::Json object, bool keeps) {
    const std::string name = kube::key_of(object).name;
    if (all.contains(name)) return refuse(409, "AlreadyExists");
    object.as_object()["metadata"].as_object()["uid"] = "uid-" + std::to_string(++uids_);
    touch(object);
    if (keeps) all[name] = object;
    return reply(201, object);
  }

  void touch(kube::Json& object) {
    object.as_object()["metadata"].as_object()["resourceVersion"] = std::to_string(++version_);
  }

  std::mutex mutex_;
  std::map<std::string, Objects> objects_;  // by plural
  int uids_ = 0;
  int version_ = 1;
};

}  // namespace caravan::controller::testing
