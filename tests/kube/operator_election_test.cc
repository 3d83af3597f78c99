// The operator's program before a scripted API server, which has one job and answers lists when the test
// likes.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/serialize.hpp>
#include <csignal>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "common/process.h"
#include "common/testing/await.h"
#include "common/testing/checkout.h"
#include "common/testing/temporary_folder.h"
#include "kube/api/json.h"
#include "tests/kube/fault_server.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using kube::testing::Exchange;
using kube::testing::status_json;

constexpr char kJobs[] = R"({"metadata": {"resourceVersion": "1"}, "items": [{
  "apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob",
  "metadata": {"name": "train", "namespace": "team", "uid": "u", "generation": 1, "resourceVersion": "1",
               "creationTimestamp": "2030-01-01T00:00:00Z"},
  "spec": {"model": {"preset": "llama-tiny"}, "data": {"path": "train.bin"},
           "training": {"steps": 100, "sequenceLength": 64, "globalBatchSequences": 8},
           "resources": {"devices": 2, "devicesPerNode": 2, "device": {"kind": "CPU", "memory": "4Gi"}}}}]})";
constexpr char kNothing[] = R"({"metadata": {"resourceVersion": "1"}, "items": []})";
constexpr std::size_t kResources = 7;  // that the operator watches

class NewLeader : public ::testing::Test {
 protected:
  NewLeader() {
    const std::string authority = folder_.write("ca.crt", server_.authority().certificate_pem);
    const std::string config = folder_.write(
        "kubeconfig",
        fmt::format(
            R"({{"current-context": "c", "contexts": [{{"name": "c", "context": {{"cluster": "c", "user": "u"}}}}],)"
            R"("clusters": [{{"name": "c", "cluster": {{"server": "https://127.0.0.1:{}",)"
            R"("certificate-authority": "{}"}}}}], "users": [{{"name": "u", "user": {{"token": "t"}}}}]}})",
            server_.port(), authority));
    program_.emplace(Process::spawn({.program = test::program_folder() + "/caravan-operator",
                                     .arguments = {"--kubeconfig", config, "--worker-image", "worker:test",
                                                   "--probes", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
                                                   "--reports-listen", "127.0.0.1:0"}})
                         .value());
  }
  ~NewLeader() override { let_lists_pass(); }

  void let_lists_pass() {
    lists_pass_ = true;
    lists_pass_.notify_all();
  }

  void answer(Exchange& exchange) {
    const auto& [method, path, query, headers, body] = exchange.request();
    if (path.find("/leases/") != std::string::npos) return answer_lease(exchange);
    if (method != "GET") {
      ++writes_;
      if (writes_hang_ && !path.ends_with("/events")) return hang_as_a_write(exchange);
      return exchange.reply(403, status_json(403, "Forbidden"));
    }
    if (query.find("watch=") != std::string::npos) {
      exchange.begin_stream();
      exchange.hang();
    }
    if (path.ends_with("/pods") && elected_) {
      lists_again_ = true;
      lists_pass_.wait(false);
    }
    exchange.reply(200, path.ends_with("/llamatrainingjobs") ? kJobs : kNothing);
    const std::scoped_lock lock(mutex_);
    listed_.insert(path);
  }

  void hang_as_a_write(Exchange& exchange) {
    struct UnderWay {
      std::atomic<int>& writes;
      ~UnderWay() { --writes; }
    };
    ++under_way_;
    const UnderWay until_it_ends{under_way_};
    exchange.hang();
  }

  // Free once all caches are filled.
  void answer_lease(Exchange& exchange) {
    if (exchange.request().method != "GET" && holder_in(exchange.request().body).empty())
      return take_back(exchange);
    const std::scoped_lock lock(mutex_);
    if (exchange.request().method == "GET") {
      if (!elected_ && listed_.size() == kResources) lease_.at("spec").as_object()["holderIdentity"] = "";
    } else {
      lease_ = kube::parse_json(exchange.request().body, "lease").value();
      elected_ = true;
    }
    exchange.reply(200, boost::json::serialize(lease_));
  }

  static std::string holder_in(const std::string& lease) {
    return kube::text_at(kube::parse_json(lease, "lease").value(), {"spec", "holderIdentity"});
  }

  // What was being written when it came has a while to end.
  void take_back(Exchange& exchange) {
    for (int i = 0; i < 500 && under_way_ > 0; ++i) std::this_thread::sleep_for(10ms);
    under_way_when_it_was_given_back_ = under_way_.load();
    is_given_back_ = true;
    if (keeps_who_gives_back_) exchange.hang();
    exchange.reply(200, exchange.request().body);
  }

  std::atomic<bool> elected_{false};
  std::atomic<bool> lists_again_{false};
  std::atomic<bool> lists_pass_{false};
  std::atomic<int> writes_{0};  // but of the lease
  std::atomic<bool> writes_hang_{false};
  std::atomic<int> under_way_{0};  // of those that hang
  std::atomic<bool> keeps_who_gives_back_{false};
  std::atomic<bool> is_given_back_{false};
  std::atomic<int> under_way_when_it_was_given_back_{-1};
  std::mutex mutex_;
  std::set<std::string> listed_;
  kube::Json lease_ =
      kube::parse_json(R"({"metadata": {"namespace": "caravan-system", "name": "caravan-operator",)"
                       R"("resourceVersion": "1"}, "spec": {"holderIdentity": "nobody",)"
                       R"("leaseDurationSeconds": 3600, "leaseTransitions": 0}})",
                       "lease")
          .value();
  test::TemporaryFolder folder_;
  kube::testing::FaultServer server_{[this](Exchange& exchange) { answer(exchange); }};
  std::optional<Process> program_;
};

TEST_F(NewLeader, WritesNothingBeforeItsCachesAreAsNewAsItsElection) {
  test::await([&] { return lists_again_ || writes_ > 0; });
  std::this_thread::sleep_for(1s);
  EXPECT_EQ(writes_, 0) << "while the pods are being listed";
  let_lists_pass();
  test::await([&] { return writes_ > 0; });
}

TEST_F(NewLeader, EndsWhatItWritesBeforeItGivesItsLeaseBack) {
  writes_hang_ = true;
  let_lists_pass();
  test::await([&] { return under_way_ > 0; });
  program_->signal_group(SIGTERM);
  EXPECT_EQ(program_->wait(), (ExitStatus{.exit_code = static_cast<int>(ExitCode::kDone)}));
  EXPECT_EQ(under_way_when_it_was_given_back_, 0);
}

TEST_F(NewLeader, ASecondSignalEndsItWhateverItWaitsFor) {
  keeps_who_gives_back_ = true;
  let_lists_pass();
  test::await([&] { return writes_ > 0; });
  program_->signal_group(SIGTERM);
  test::await([&] { return is_given_back_.load(); });
  program_->signal_group(SIGTERM);
  EXPECT_EQ(program_->wait(), (ExitStatus{.exit_code = static_cast<int>(ExitCode::kInterrupted)}));
}

}  // namespace
}  // namespace caravan::controller::testing
