// Several operators, operators that are killed or paused, and an API server that is: one leads, nothing is
// made twice, nothing is left out. Who wrote what stands in the API server's audit log.
#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "common/testing/checkout.h"
#include "tests/kube/operator_program.h"

namespace caravan::controller::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<std::string> names_of_pods(int count) {
  std::vector<std::string> names;
  for (int node = 0; node < count; ++node) names.push_back(fmt::format("train-{}-a1", node));
  std::sort(names.begin(), names.end());
  return names;
}

// Two may try to be the first to write a lease; one of them is refused.
bool is_lost_election(const Json& entry) {
  return kube::text_at(entry, {"objectRef", "resource"}) == "leases" &&
         kube::integer_at(entry, {"responseStatus", "code"}) == 409;
}

class Leaders : public OperatorProgram {
 protected:
  // What operators wrote in this namespace, in order.
  JsonArray audit() const {
    JsonArray entries;
    std::ifstream log(API_FOLDER "/audit.log");
    for (std::string line; std::getline(log, line);) {
      Json entry = kube::parse_json(line, "audit").value_or(Json());
      if (kube::text_at(entry, {"userAgent"}).rfind("caravan-operator/", 0) != 0 || is_lost_election(entry))
        continue;
      if (kube::text_at(entry, {"objectRef", "namespace"}) == server_.name_space())
        entries.push_back(std::move(entry));
    }
    return entries;
  }
  // How much, by the user agent of the operator.
  std::map<std::string, int> writes() const {
    std::map<std::string, int> all;
    for (const Json& entry : audit()) ++all[kube::text_at(entry, {"userAgent"})];
    return all;
  }
  int writes_of(const std::string& identity) const {
    int count = 0;
    for (const auto& [agent, writes] : writes()) {
      if (agent.find(identity) != std::string::npos) count += writes;
    }
    return count;
  }
  std::vector<std::string> config_maps_written_by(const std::string& identity) const {
    std::vector<std::string> names;
    for (const Json& entry : audit()) {
      if (kube::text_at(entry, {"objectRef", "resource"}) == kConfigMaps.plural &&
          kube::text_at(entry, {"userAgent"}).find(identity) != std::string::npos)
        names.push_back(kube::text_at(entry, {"objectRef", "name"}));
    }
    return names;
  }
  std::string await_leader(const std::string& other_than = "") {
    await("a leader", [&] { return !holder_of_the_lease().empty() && holder_of_the_lease() != other_than; });
    return holder_of_the_lease();
  }
};

TEST_F(Leaders, OfTwoOneWrites) {
  const Process first = start_operator();
  const Process second = start_operator();
  const std::string leader = await_leader();
  create_job(job_yaml());
  await_pods(names_of_pods(2));
  EXPECT_EQ(writes().size(), 1U);
  EXPECT_GE(writes_of(leader), 8);
}

TEST_F(Leaders, OneThatWakesUpAfterItsLeaseEndsWithoutAWrite) {
  Process first = start_operator();
  const std::string old_leader = await_leader();
  create_job(job_yaml());
  await_pods(names_of_pods(2));
  const Process second = start_operator();
  first.signal_group(SIGSTOP);
  await("it stops", [&] { return first.is_stopped(); });
  const std::string new_leader = await_leader(old_leader);
  // What it missed is work that it would do now.
  create_job(job_yaml(1, "", "next"));
  await_pods({"next-0-a1", "train-0-a1", "train-1-a1"});
  const int writes_before = writes_of(old_leader);
  EXPECT_GT(writes_before, 0);
  first.signal_group(SIGCONT);
  EXPECT_EQ(first.wait(), (ExitStatus{.exit_code = 1}));
  EXPECT_EQ(writes_of(old_leader), writes_before);
  EXPECT_EQ(holder_of_the_lease(), new_leader);
}

TEST_F(Leaders, AnotherOneGoesOnWhereAKilledOneWas) {
  Process first = start_operator();
  create_job(job_yaml());
  await_pods(names_of_pods(2));
  for (const char* pod : {"train-0-a1", "train-1-a1"}) run(pod);
  kill_leader(first);
  end("train-0-a1", "Failed", 137);
  const Process second = start_operator();
  await_pods({"train-0-a2", "train-1-a1"});
}

TEST_F(Leaders, AnotherOnePlansTheNewJobBeforeItLooksAfterTheOthers) {
  Process first = start_operator();
  const std::string old_leader = await_leader();
  const std::vector<std::string> running{"a", "b", "c", "d", "e"};
  std::vector<std::string> pods;
  for (const std::string& name : running) {
    create_job(job_yaml(1, "", name));
    pods.push_back(name + "-0-a1");
  }
  await_pods(pods);
  kill_leader(first);
  create_job(job_yaml(1, "", "next"));
  const Process second = start_operator({"--workers", "1"});
  const std::string new_leader = await_leader(old_leader);
  // Those that run learn to whom they report now.
  await("all plans are written", [&] { return config_maps_written_by(new_leader).size() > running.size(); });
  EXPECT_EQ(config_maps_written_by(new_leader).front(), "next-plan");
}

TEST_F(Leaders, AStandbyCollectsNoWorkAndListsEverythingAnewOnceItLeads) {
  Process first = start_operator();
  await_leader();
  const Process second = start_operator();
  await("both serve metrics", [&] { return addresses().size() == 2; });
  const std::string standby = addresses().back();
  const char* const kLists = "caravan_watch_relists_total{resource=\"pods\"}";
  create_job(job_yaml());
  await_pods(names_of_pods(2));
  const double seen = std::stod(kube::version_of(job()));
  await("the standby has seen the job", [&] {
    return metric(standby, "caravan_cache_resource_version{resource=\"llamatrainingjobs\"}") >= seen;
  });
  EXPECT_EQ(metric(standby, "workqueue_depth{name=\"llamatrainingjob\"}"), 0);
  EXPECT_EQ(metric(standby, kLists), 1);
  kill_leader(first);
  create_job(job_yaml(1, "", "next"));
  await_pods({"next-0-a1", "train-0-a1", "train-1-a1"});
  EXPECT_EQ(metric(standby, kLists), 2);
}

TEST_F(Leaders, OneThatIsKilledWhileItMakesPodsLeavesNoneOutAndNoneTwice) {
  Process first = start_operator();
  create_job(job_yaml(150));
  await("the first pods", [&] { return pods().size() > 4; });
  kill_leader(first);
  const Process second = start_operator();
  await_pods(names_of_pods(150));
  for (const std::string& pod : names_of_pods(150)) bind(pod);
  await_condition("Scheduled", "all 150 pods have a machine");
  for (const Json& pod : all(kube::kPods)) EXPECT_EQ(kube::controller_uid_of(pod), kube::uid_of(job()));
}

TEST_F(Leaders, ATermSignalEndsOneInOrderAndGivesTheLeaseBack) {
  Process program = start_operator();
  await_leader();
  program.signal_group(SIGTERM);
  EXPECT_EQ(program.wait(), (ExitStatus{.exit_code = 0}));
  EXPECT_EQ(holder_of_the_lease(), "");
}

TEST_F(Leaders, ADeletedLeaseStaysWithItsLeader) {
  const Process first = start_operator();
  const std::string leader = await_leader();
  const Process second = start_operator();
  EXPECT_TRUE(client().remove({}, at(kube::kLeases), "caravan-operator", {}));
  await("the leader makes it anew", [&] { return holder_of_the_lease() == leader; });
  create_job(job_yaml());
  await_pods(names_of_pods(2));
  EXPECT_GE(writes_of(leader), 8);
}

TEST_F(Leaders, LogsLinesOfJsonThatNameTheJob) {
  Process program = start_operator();
  create_job(job_yaml());
  await_pods(names_of_pods(2));
  program.signal_group(SIGTERM);
  program.wait();
  std::ifstream log(log_);
  bool planned = false;
  for (std::string line; std::getline(log, line);) {
    const auto entry = kube::parse_json(line, "log");
    ASSERT_TRUE(entry) << line;
    EXPECT_THAT(line, AllOf(HasSubstr("\"time\":"), HasSubstr("\"level\":"), HasSubstr("\"message\":")));
    planned = planned || (kube::text_at(*entry, {"job"}) == "train" &&
                          kube::text_at(*entry, {"namespace"}) == server_.name_space() &&
                          kube::text_at(*entry, {"condition"}) == "Planned");
  }
  EXPECT_TRUE(planned);
}

// An operator of a user who may do all that one must, but for network policies.
class WithoutARight : public Leaders {
 protected:
  WithoutARight() {
    std::ostringstream text;
    text << std::ifstream(administrator_).rdbuf();
    Json config = kube::parse_json(text.str(), administrator_).value();
    config.as_object()["current-context"] = "user";
    std::ofstream(kubeconfig_) << boost::json::serialize(config);
    setenv("KUBECONFIG", kubeconfig_.c_str(), 1);  // of operators: the test's client is there already
    const auto rule = [](const char* group, JsonArray resources) {
      return JsonObject{
          {"apiGroups", JsonArray{group}}, {"resources", std::move(resources)}, {"verbs", JsonArray{"*"}}};
    };
    apply("roles", "Role",
          {{"rules", JsonArray{rule("", {"pods", "services", "configmaps", "serviceaccounts"}),
                               rule("coordination.k8s.io", {"leases"}), rule(kJobs.group.c_str(), {"*"})}}});
    const JsonObject role{{"apiGroup", kRbac}, {"kind", "Role"}, {"name", "almost"}};
    const JsonObject user{{"apiGroup", kRbac}, {"kind", "User"}, {"name", "user"}};
    apply("rolebindings", "RoleBinding", {{"roleRef", role}, {"subjects", JsonArray{user}}});
    server_.await_right("user", "list");
  }
  ~WithoutARight() override {
    setenv("KUBECONFIG", administrator_.c_str(), 1);
    std::filesystem::remove(kubeconfig_);
  }

 private:
  static constexpr const char* kRbac = "rbac.authorization.k8s.io";

  void apply(const char* plural, const char* kind, JsonObject fields) {
    fields["apiVersion"] = std::string(kRbac) + "/v1";
    fields["kind"] = kind;
    fields["metadata"] = JsonObject{{"name", "almost"}, {"namespace", server_.name_space()}};
    const auto applied =
        client().apply({}, at({.group = kRbac, .version = "v1", .plural = plural}), Json(std::move(fields)));
    EXPECT_TRUE(applied) << applied.error().message;
  }

  const std::string administrator_ = std::getenv("KUBECONFIG");
  const std::filesystem::path kubeconfig_ =
      std::filesystem::temp_directory_path() / (server_.name_space() + ".kubeconfig");
};

TEST_F(WithoutARight, ALeaderThatCannotReadWhatItNeedsSaysSoAndGivesTheLeaseBack) {
  Process program = start_operator({"--read-nodes", "false", "--cache-sync-seconds", "5"});
  EXPECT_EQ(program.wait(), (ExitStatus{.exit_code = 1}));
  EXPECT_THAT(await_log("the caches of networkpolicies were not filled, and for 5 s nothing came", "level"),
              "error");
  EXPECT_EQ(holder_of_the_lease(), "");
}

// A server that may be killed, which is this test's own.
class OwnServer {
 protected:
  OwnServer() {
    script("up");
    setenv("KUBECONFIG", fmt::format("{}/kubeconfig", kFolder).c_str(), 1);
  }
  ~OwnServer() { script("down"); }

  static void script(const std::string& verb) {
    // The servers outlive the script.
    auto run = Process::spawn(
        {.program = test::source_folder() + "/tests/cluster/api.sh", .arguments = {verb, kFolder}});
    ASSERT_TRUE(run) << run.error().message;
    ASSERT_EQ(run->wait(), ExitStatus{.exit_code = 0}) << "api.sh " << verb;
  }

  static constexpr const char* kFolder = API_FOLDER "-of-the-operator";
};

class ServerThatIsKilled : private OwnServer, public OperatorProgram {
 protected:
  using OwnServer::script;
};

TEST_F(ServerThatIsKilled, WhilePodsAreMadeCostsNoPodAndMakesNoneTwice) {
  Process program = start_operator();
  create_job(job_yaml(150));
  await("the first pods", [&] { return pods().size() > 4; });
  script("restart");
  // One that could not renew its lease meanwhile has ended, and a Deployment starts it again.
  await("all pods", [&] {
    if (program.try_wait()) program = start_operator();
    return pods() == names_of_pods(150);
  });
  for (const std::string& pod : names_of_pods(150)) bind(pod);
  await_condition("Scheduled", "all 150 pods have a machine");
}

}  // namespace
}  // namespace caravan::controller::testing
