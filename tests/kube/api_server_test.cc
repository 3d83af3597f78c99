// The client against a real API server, which KUBECONFIG names.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>

#include "kube/api/object.h"
#include "kube/events/event_recorder.h"
#include "kube/watch/informer.h"
#include "tests/kube/server_client.h"

namespace caravan::kube::testing {
namespace {

using namespace std::chrono_literals;

// Each test has a namespace of its own.
class ApiServer : public ::testing::Test {
 protected:
  ResourcePath in_namespace(const Resource& resource) const {
    return {.resource = resource, .name_space = name_space_};
  }
  Json config_map(const std::string& name, const std::string& value,
                  const std::string& owner_uid = "") const {
    Json object = testing::config_map(name_space_, name, value);
    if (!owner_uid.empty()) {
      object.get_object()["metadata"].get_object()["ownerReferences"] = JsonArray{
          controller_reference(JsonObject{{"apiVersion", "v1"},
                                          {"kind", "ConfigMap"},
                                          {"metadata", JsonObject{{"name", "owner"}, {"uid", owner_uid}}}})};
    }
    return object;
  }
  std::unique_ptr<Informer> informer(std::function<void(const Change&)> on_change) {
    auto made = std::make_unique<Informer>(
        client_, clock_, system_random(), observer_,
        InformerOptions{
            .path = in_namespace(kConfigMaps), .label_selector = "app in (test)", .limits = {.page_size = 3}},
        std::move(on_change));
    made->start();
    return made;
  }

  ServerClient server_;
  SystemClock& clock_ = server_.clock;
  CountsWarnings& observer_ = server_.observer;
  Client& client_ = server_.client;
  std::string name_space_ = server_.make_namespace();
};

TEST_F(ApiServer, JudgesWhatIsTriedOutAndKeepsNothing) {
  EXPECT_TRUE(client_.try_create({}, in_namespace(kConfigMaps), config_map("a", "1")));
  EXPECT_TRUE(client_.get({}, in_namespace(kConfigMaps), "a").error().is_not_found());
  Json unknown = config_map("a", "1");
  unknown.as_object()["dota"] = JsonObject{};
  const auto refused = client_.try_create({}, in_namespace(kConfigMaps), unknown);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 400) << refused.error().message;
}

TEST_F(ApiServer, RefusesFieldsThatItDoesNotKnowOfWhoeverAsksForThat) {
  Json unknown = config_map("a", "1");
  unknown.as_object()["dota"] = JsonObject{};
  const auto refused = client_.create({}, in_namespace(kConfigMaps), unknown, UnknownFields::kRefused);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 400) << refused.error().message;
  EXPECT_TRUE(client_.get({}, in_namespace(kConfigMaps), "a").error().is_not_found());
  EXPECT_TRUE(client_.create({}, in_namespace(kConfigMaps), unknown)) << "it is dropped otherwise";
}

TEST_F(ApiServer, CreatesReadsAndDeletesWhatWasMeant) {
  const auto created = client_.create({}, in_namespace(kConfigMaps), config_map("a", "1"));
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_TRUE(
      client_.create({}, in_namespace(kConfigMaps), config_map("a", "1")).error().is_already_exists());
  EXPECT_EQ(text_at(client_.get({}, in_namespace(kConfigMaps), "a").value(), {"data", "key"}), "1");

  const auto other =
      client_.remove({}, in_namespace(kConfigMaps), "a", {.uid = "00000000-0000-0000-0000-000000000000"});
  ASSERT_FALSE(other);
  EXPECT_TRUE(other.error().is_conflict()) << other.error().message;
  EXPECT_TRUE(client_.remove({}, in_namespace(kConfigMaps), "a", {.uid = uid_of(*created)}));
  EXPECT_TRUE(client_.get({}, in_namespace(kConfigMaps), "a").error().is_not_found());
}

TEST_F(ApiServer, ApplyGivesUpTheFieldsThatAreLeftOut) {
  ASSERT_TRUE(client_.apply({}, in_namespace(kConfigMaps), config_map("a", "1")));
  Json without = config_map("a", "1");
  without.get_object()["data"] = JsonObject{{"other", "2"}};
  const auto applied = client_.apply({}, in_namespace(kConfigMaps), without);
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_EQ(find(*applied, {"data", "key"}), nullptr);
  EXPECT_EQ(text_at(*applied, {"data", "other"}), "2");
}

TEST_F(ApiServer, ApplyWithAUidDoesNotResurrectAnObject) {
  Json gone = config_map("a", "1");
  gone.get_object()["metadata"].get_object()["uid"] = "00000000-0000-0000-0000-000000000000";
  EXPECT_FALSE(client_.apply({}, in_namespace(kConfigMaps), gone));
}

TEST_F(ApiServer, AnOldVersionIsAConflict) {
  const Json old = client_.create({}, in_namespace(kConfigMaps), config_map("a", "1")).value();
  ASSERT_TRUE(
      client_.merge({}, in_namespace(kConfigMaps), "a", JsonObject{{"data", JsonObject{{"key", "2"}}}}));
  EXPECT_TRUE(client_.replace({}, in_namespace(kConfigMaps), old).error().is_conflict());
}

TEST_F(ApiServer, ListsAllPages) {
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(client_.create({}, in_namespace(kConfigMaps), config_map(fmt::format("c{}", i), "1")));
  }
  const auto list = client_.list({}, in_namespace(kConfigMaps), {.label_selector = "app=test", .limit = 2});
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->items.size(), 7U);
  EXPECT_FALSE(list->resource_version.empty());
}

TEST_F(ApiServer, TheStatusHasARequestAndAManagerOfItsOwn) {
  const ResourcePath pods = in_namespace(kPods);
  const auto pod = [&](const char* part, Json value) {
    return Json(JsonObject{{"apiVersion", "v1"},
                           {"kind", "Pod"},
                           {"metadata", JsonObject{{"name", "p"}, {"namespace", name_space_}}},
                           {part, std::move(value)}});
  };
  const Json intent =
      pod("spec", JsonObject{{"containers", JsonArray{JsonObject{{"name", "c"}, {"image", "none"}}}}});
  ASSERT_TRUE(client_.apply({}, pods, intent));
  const auto status = client_.apply_status({}, pods, pod("status", JsonObject{{"message", "m"}}));
  ASSERT_TRUE(status) << status.error().message;
  ASSERT_TRUE(client_.apply({}, pods, intent)) << "which says nothing of the status";
  const auto read = client_.get({}, pods, "p");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(text_at(*read, {"status", "message"}), "m");
  EXPECT_NE(find(*read, {"spec", "containers"}), nullptr);
}

TEST_F(ApiServer, AnApplyThatNamesUidAndVersionChangesThatVersionOnly) {
  const Json first = client_.create({}, in_namespace(kConfigMaps), config_map("a", "1")).value();
  const auto apply = [&](const std::string& uid, const std::string& version) {
    Json intent = config_map("a", "2");
    intent.get_object()["metadata"].get_object()["uid"] = uid;
    intent.get_object()["metadata"].get_object()["resourceVersion"] = version;
    return client_.apply({}, in_namespace(kConfigMaps), intent);
  };
  EXPECT_EQ(apply("another", version_of(first)).error().code, 422);
  const auto changed = apply(uid_of(first), version_of(first));
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_TRUE(apply(uid_of(first), version_of(first)).error().is_conflict());
}

TEST_F(ApiServer, WhatIsForbiddenTodayMayBeAllowedTomorrow) {
  ServerClient user(kubeconfig_files(), "user");
  ASSERT_TRUE(client_.create({}, in_namespace(kConfigMaps), config_map("a", "1")));
  Informer informer(user.client, user.clock, system_random(), user.observer,
                    {.path = in_namespace(kConfigMaps)}, [](const Change&) {});
  informer.start();
  await([&] { return user.observer.relists >= 3; });
  EXPECT_FALSE(informer.synced());
  EXPECT_EQ(user.observer.warnings, 1);

  const auto object = [&](const char* kind, JsonObject fields) {
    fields["apiVersion"] = "rbac.authorization.k8s.io/v1";
    fields["kind"] = kind;
    fields["metadata"] = JsonObject{{"name", "reader"}, {"namespace", name_space_}};
    return Json(std::move(fields));
  };
  const auto rbac = [&](const char* plural) {
    return in_namespace({.group = "rbac.authorization.k8s.io", .version = "v1", .plural = plural});
  };
  ASSERT_TRUE(client_.apply(
      {}, rbac("roles"),
      object("Role", {{"rules", JsonArray{JsonObject{{"apiGroups", JsonArray{""}},
                                                     {"resources", JsonArray{"configmaps"}},
                                                     {"verbs", JsonArray{"list", "watch"}}}}}})));
  ASSERT_TRUE(client_.apply(
      {}, rbac("rolebindings"),
      object("RoleBinding",
             {{"roleRef",
               JsonObject{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", "reader"}}},
              {"subjects",
               JsonArray{JsonObject{
                   {"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "User"}, {"name", "user"}}}}})));
  EXPECT_TRUE(informer.wait_until_synced({}));
  EXPECT_NE(informer.store().get({name_space_, "a"}), nullptr);
}

TEST_F(ApiServer, AnInformerSeesWhatWasThereAndWhatHappens) {
  const Json owner = client_.create({}, in_namespace(kConfigMaps), config_map("owner", "1")).value();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(
        client_.create({}, in_namespace(kConfigMaps), config_map(fmt::format("c{}", i), "1", uid_of(owner))));
  }
  std::atomic<int> gone = 0;
  const auto informer = this->informer([&](const Change& change) { gone += change.after == nullptr; });
  ASSERT_TRUE(informer->wait_until_synced({}));
  EXPECT_EQ(informer->store().owned_by(name_space_, uid_of(owner)).size(), 5U);
  EXPECT_EQ(find(informer->store().all().front()->parse(), {"metadata", "managedFields"}), nullptr);

  ASSERT_TRUE(client_.create({}, in_namespace(kConfigMaps), config_map("late", "1", uid_of(owner))));
  await([&] { return informer->store().owned_by(name_space_, uid_of(owner)).size() == 6; });
  ASSERT_TRUE(client_.remove({}, in_namespace(kConfigMaps), "late", {}));
  await([&] { return gone == 1; });
}

TEST_F(ApiServer, AnInformerOfMetadataSeesTheSameWithoutBodies) {
  const std::string large(std::size_t{1} << 20, 'x');
  ASSERT_TRUE(client_.create({}, in_namespace(kConfigMaps), config_map("listed", large)));
  Informer informer(client_, clock_, system_random(), observer_,
                    {.path = in_namespace(kConfigMaps), .part = Part::kMetadata}, [](const Change&) {});
  informer.start();
  ASSERT_TRUE(informer.wait_until_synced({}));
  ASSERT_TRUE(client_.create({}, in_namespace(kConfigMaps), config_map("watched", large)));
  await([&] { return informer.store().size() == 2; });
  for (const ObjectPtr& object : informer.store().all()) {
    EXPECT_EQ(find(object->parse(), {"data"}), nullptr) << object->name();
    EXPECT_EQ(text_at(object->parse(), {"metadata", "labels", "app"}), "test");
  }
  ASSERT_TRUE(client_.merge({}, in_namespace(kConfigMaps), "listed",
                            JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{"app", "other"}}}}}}));
  await([&] {
    return text_at(informer.store().get({name_space_, "listed"})->parse(), {"metadata", "labels", "app"}) ==
           "other";
  });
  ASSERT_TRUE(client_.remove({}, in_namespace(kConfigMaps), "watched", {}));
  await([&] { return informer.store().size() == 1; });
}

TEST_F(ApiServer, ARenewedInformerHasSeenTheLastWrite) {
  const auto informer = this->informer([](const Change&) {});
  ASSERT_TRUE(informer->wait_until_synced({}));
  for (int i = 0; i < 10; ++i) {
    const std::string name = fmt::format("c{}", i);
    ASSERT_TRUE(client_.create({}, in_namespace(kConfigMaps), config_map(name, "1")));
    informer->renew();
    ASSERT_TRUE(informer->wait_until_synced({}));
    EXPECT_NE(informer->store().get({name_space_, name}), nullptr) << name;
  }
}

// What a reader may go on from: a list has one version and many changes.
TEST_F(ApiServer, AnInformerHasReportedAVersionWhenAllOfItsChangesAreTold) {
  for (const char* name : {"a", "b"})
    ASSERT_TRUE(client_.create({}, in_namespace(kConfigMaps), config_map(name, "1")));
  std::mutex mutex;
  std::vector<std::string> reported, lists;
  Informer* self = nullptr;
  Informer informer(client_, clock_, system_random(), observer_,
                    {.path = in_namespace(kConfigMaps),
                     .label_selector = "app=test",
                     .on_list =
                         [&](const std::string& before, const std::string& now) {
                           const std::scoped_lock lock(mutex);
                           lists.push_back(fmt::format("{}-{}", before, now));
                         }},
                    [&](const Change&) {
                      const std::scoped_lock lock(mutex);
                      reported.push_back(self->reported_version());
                    });
  self = &informer;
  informer.start();
  ASSERT_TRUE(informer.wait_until_synced({}));
  ASSERT_TRUE(client_.create({}, in_namespace(kConfigMaps), config_map("c", "1")));
  informer.renew();
  ASSERT_TRUE(informer.wait_until_synced({}));
  await([&] { return informer.reported_version() == informer.store().resource_version(); });
  const std::scoped_lock lock(mutex);
  ASSERT_GE(reported.size(), 3U);
  EXPECT_EQ(reported[0], "") << "of the first list none had been told whole";
  EXPECT_EQ(reported[1], "");
  EXPECT_NE(reported[2], "");
  ASSERT_EQ(lists.size(), 2U);
  EXPECT_TRUE(lists[0].starts_with("-")) << lists[0];
  EXPECT_FALSE(lists[1].starts_with("-")) << lists[1];
}

TEST_F(ApiServer, ASeriesOfEventsIsOneEvent) {
  const Json about = client_.create({}, in_namespace(kConfigMaps), config_map("a", "1")).value();
  EventRecorder events(client_, clock_, observer_, {.controller = "caravan.dev/test", .instance = "test"});
  for (int i = 0; i < 3; ++i) {
    events.record({.regarding = about, .reason = "Tested", .action = "Test", .note = "a note"});
  }
  ASSERT_TRUE(events.flush({}));
  const auto list = client_.list({}, in_namespace(kEvents), {});
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->items.size(), 1U);
  EXPECT_EQ(integer_at(list->items.front(), {"series", "count"}), 3);
}

TEST_F(ApiServer, OneOfTwoElectorsLeadsAndTheOtherFollowsItsRelease) {
  const auto config = [&](const std::string& identity) {
    return ElectionConfig{.identity = identity, .lease = {name_space_, "operator"}};
  };
  make_lease(client_, {name_space_, "operator"});
  Elector first(server_.config, clock_, system_random(), observer_, {}, config("first"));
  Elector second(server_.config, clock_, system_random(), observer_, {}, config("second"));
  std::stop_source stop_first;
  std::stop_source stop_second;
  auto first_runs = std::async(std::launch::async, [&] { return first.run(stop_first.get_token(), [] {}); });
  await([&] { return first.may_write(); });
  auto second_runs =
      std::async(std::launch::async, [&] { return second.run(stop_second.get_token(), [] {}); });
  EXPECT_FALSE(second.may_write());
  stop_first.request_stop();
  EXPECT_EQ(first_runs.get(), Elector::Outcome::kStopped);
  const auto released = first.release({});
  EXPECT_TRUE(released) << released.error().message;
  await([&] { return second.may_write(); });
  stop_second.request_stop();
  EXPECT_EQ(second_runs.get(), Elector::Outcome::kStopped);
}

TEST_F(ApiServer, ADeletedLeaseIsMadeAnewByItsLeaderAndGivenToNobodyElse) {
  const auto config = [&](const std::string& identity) {
    return ElectionConfig{.identity = identity, .lease = {name_space_, "operator"}};
  };
  make_lease(client_, {name_space_, "operator"});
  Elector leader(server_.config, clock_, system_random(), observer_, {}, config("leader"));
  Elector other(server_.config, clock_, system_random(), observer_, {}, config("other"));
  std::stop_source stop;
  auto leader_runs = std::async(std::launch::async, [&] { return leader.run(stop.get_token(), [] {}); });
  await([&] { return leader.may_write(); });
  auto other_runs = std::async(std::launch::async, [&] { return other.run(stop.get_token(), [] {}); });
  const std::string old = uid_of(client_.get({}, in_namespace(kLeases), "operator").value());
  ASSERT_TRUE(client_.remove({}, in_namespace(kLeases), "operator", {}));
  await([&] {
    const auto lease = client_.get({}, in_namespace(kLeases), "operator");
    return lease && uid_of(*lease) != old && text_at(*lease, {"spec", "holderIdentity"}) == "leader";
  });
  EXPECT_TRUE(leader.may_write());
  EXPECT_FALSE(other.may_write());
  stop.request_stop();
  EXPECT_EQ(leader_runs.get(), Elector::Outcome::kStopped);
  EXPECT_EQ(other_runs.get(), Elector::Outcome::kStopped);
}

TEST_F(ApiServer, ManyThreadsShareTheClient) {
  std::vector<std::future<bool>> creates;
  for (int i = 0; i < 40; ++i) {
    creates.push_back(std::async(std::launch::async, [this, i] {
      return client_.create({}, in_namespace(kConfigMaps), config_map(fmt::format("c{}", i), "1"))
          .has_value();
    }));
  }
  for (auto& created : creates) EXPECT_TRUE(created.get());
  EXPECT_EQ(client_.list({}, in_namespace(kConfigMaps), {.label_selector = "app=test"}).value().items.size(),
            40U);
}

}  // namespace
}  // namespace caravan::kube::testing
