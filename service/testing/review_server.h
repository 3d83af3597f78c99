// The API server's reviews of tokens and rights, behind the client's transport.
#pragma once

#include <boost/json/serialize.hpp>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "common/testing/manual_clock.h"
#include "kube/client/client.h"
#include "service/methods/caller_client.h"

namespace caravan::service::testing {

class ReviewServer final : public kube::Transport {
 public:
  void know(const std::string& token, const std::string& user) {
    const std::scoped_lock lock(mutex_);
    users_[token] = user;
  }
  void forget(const std::string& token) {
    const std::scoped_lock lock(mutex_);
    users_.erase(token);
  }
  // right: "USER VERB NAMESPACE", or "USER VERB NAMESPACE NAME" for one job.
  void allow(const std::string& right) {
    const std::scoped_lock lock(mutex_);
    rights_.insert(right);
  }
  void allow_everything(const std::string& user) {
    const std::scoped_lock lock(mutex_);
    mighty_.insert(user);
  }
  void forbid(const std::string& right) {
    const std::scoped_lock lock(mutex_);
    rights_.erase(right);
  }
  void go_away() {
    const std::scoped_lock lock(mutex_);
    is_away_ = true;
  }
  void come_back() {
    const std::scoped_lock lock(mutex_);
    is_away_ = false;
  }
  // Whoever asks about that token waits until release().
  void hold(const std::string& token) {
    const std::scoped_lock lock(mutex_);
    held_.insert(token);
  }
  void release() {
    const std::scoped_lock lock(mutex_);
    held_.clear();
    changed_.notify_all();
  }
  int questions() const {
    const std::scoped_lock lock(mutex_);
    return questions_;
  }

  kube::ApiResult<kube::HttpResponse> call(const CallContext&, const kube::HttpRequest& request) override {
    std::unique_lock lock(mutex_);
    ++questions_;
    if (is_away_) return kube::api_failure(kube::ErrorKind::kUnreachable, "nobody there");
    const kube::Json review = kube::parse_json(request.body, "review").value();
    changed_.wait(lock, [&] { return !held_.contains(kube::text_at(review, {"spec", "token"})); });
    const bool is_of_token = request.target.find("/tokenreviews") != std::string::npos;
    const kube::JsonObject status = is_of_token ? status_of_token(review) : status_of_right(review);
    return kube::HttpResponse{.head = {.status = 201},
                              .body = boost::json::serialize(kube::JsonObject{{"status", status}})};
  }
  kube::ApiResult<std::unique_ptr<kube::HttpStream>> open(const CallContext&,
                                                          const kube::HttpRequest&) override {
    return kube::api_failure(kube::ErrorKind::kUnreachable, "there are no streams here");
  }

 private:
  kube::JsonObject status_of_token(const kube::Json& review) const {
    const auto user = users_.find(kube::text_at(review, {"spec", "token"}));
    if (user == users_.end()) return {{"authenticated", false}, {"error", "token has expired"}};
    return {{"authenticated", true},
            {"audiences", kube::JsonArray{"caravan"}},
            {"user", kube::JsonObject{{"username", user->second}}}};
  }
  kube::JsonObject status_of_right(const kube::Json& review) const {
    const auto attribute = [&](const char* name) {
      return kube::text_at(review, {"spec", "resourceAttributes", name});
    };
    std::string right =
        kube::text_at(review, {"spec", "user"}) + " " + attribute("verb") + " " + attribute("namespace");
    if (!attribute("name").empty()) right += " " + attribute("name");
    const bool is_mighty = mighty_.contains(kube::text_at(review, {"spec", "user"}));
    return {{"allowed", is_mighty || rights_.contains(right)}};
  }

  mutable std::mutex mutex_;
  std::map<std::string, std::string> users_;
  std::set<std::string> rights_;
  std::set<std::string> mighty_;  // users
  std::set<std::string> held_;    // tokens
  std::condition_variable changed_;
  bool is_away_ = false;
  int questions_ = 0;
};

// A client of it, on a clock that the test moves.
struct ReviewedService {
  caravan::testing::ManualClock clock;
  ReviewServer server;
  TokenCredentials credentials{"of the service"};
  kube::Observer observer;
  kube::Client client{server, credentials, clock, [] { return 0.5; }, {.retry = {.tries = 1}}, observer};
};

}  // namespace caravan::service::testing
