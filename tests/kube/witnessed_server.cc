#include "tests/kube/witnessed_server.h"

#include <fmt/format.h>

#include <thread>

#include "common/testing/await.h"
#include "kube/api/resource_version.h"
#include "operator/testing/jobs.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;

// What is waited for should come at once; a busy machine gets this long before the test fails.
using test::kPatience;

// Of a path such as /api/v1/namespaces/SPACE/pods/NAME; empty for one outside of a namespace.
std::string plural_of(const std::string& target) {
  const std::string before = "/namespaces/";
  const std::size_t space = target.find(before);
  if (space == std::string::npos) return "";
  const std::size_t slash = target.find('/', space + before.size());
  if (slash == std::string::npos) return "";
  return target.substr(slash + 1, target.find_first_of("/?", slash + 1) - slash - 1);
}

Objects by_name(const kube::JsonArray& items) {
  Objects objects;
  for (const kube::Json& item : items) objects[kube::key_of(item).name] = item;
  return objects;
}

Objects all_of(const kube::Store& store) {
  Objects objects;
  for (const kube::ObjectPtr& object : store.all()) objects[object->key().name] = object->parse();
  return objects;
}

}  // namespace

kube::ApiResult<kube::HttpResponse> WitnessTransport::call(const CallContext& context,
                                                           const kube::HttpRequest& request) {
  auto response = next_.call(context, request);
  if (request.method == "GET" || !response) return response;
  const auto body = kube::parse_json(response->body, "answer");
  const std::string version = body ? kube::version_of(*body) : "";
  const std::scoped_lock lock(mutex_);
  std::string& last = versions_[plural_of(request.target)];
  if (kube::compare_versions(last, version) < 0) last = version;
  return response;
}

std::string WitnessTransport::last_version(const std::string& plural) const {
  const std::scoped_lock lock(mutex_);
  const auto found = versions_.find(plural);
  return found == versions_.end() ? "" : found->second;
}

WitnessedServer::WitnessedServer(kube::testing::ServerClient& server)
    : server_(server),
      name_space_(server.make_namespace()),
      transport_(server.transport),
      client_(client(transport_)),
      kubelet_(client_, name_space_),
      jobs_(client_, server.clock, kube::system_random(), server.observer, {.path = at(kJobs)},
            [](const kube::Change&) {}),
      pods_(client_, server.clock, kube::system_random(), server.observer, {.path = at(kube::kPods)},
            [this](const kube::Change&) { expect_no_double(pods()); }) {
  kube::Json job = job_object();
  job.as_object()["metadata"] = kube::JsonObject{{"name", "train"}, {"namespace", name_space_}};
  const auto created = client_.create({}, at(kJobs), job);
  if (!created) ADD_FAILURE() << created.error().message;
  for (kube::Informer* watch : {&jobs_, &pods_}) watch->start();
  for (kube::Informer* watch : {&jobs_, &pods_})
    EXPECT_TRUE(watch->wait_until_synced({.deadline = server.clock.now() + kPatience}));
}

// The server writes real times, to the second.
Clock::WallTime WitnessedServer::begins_at() {
  return server_.clock.wall_now() + 1h;
}

kube::Client WitnessedServer::client(kube::Transport& through) {
  return {
      through,
      server_.credentials,
      server_.clock,
      kube::system_random(),
      {.field_manager = kFieldManager, .status_field_manager = kStatusFieldManager, .retry = {.tries = 1}},
      server_.observer};
}

Caches WitnessedServer::new_caches() {
  caches_.reset();
  caches_.emplace(
      client_, server_.clock, server_.observer,
      WatchedCaches::Options{.name_space = name_space_, .read_nodes = false}, [](const kube::ObjectKey&) {},
      [](const std::string&) {});
  caches_->start();
  EXPECT_TRUE(caches_->wait_until_synced({.deadline = server_.clock.now() + kPatience}));
  return caches_->stores();
}

// The machine of a pod that is being deleted ends it at once.
void WitnessedServer::settle() {
  await_caches();
  for (const auto& [name, pod] : pods()) {
    if (kube::is_being_deleted(pod)) kubelet_.let_go(name);
  }
  await_caches();
}

void WitnessedServer::await_caches() {
  const Caches caches = caches_->stores();
  await_version(jobs_.store(), kJobs);
  await_version(pods_.store(), kube::kPods);
  await_version(caches.jobs, kJobs);
  await_version(caches.pods, kube::kPods);
  await_version(caches.services, kServices);
  await_version(caches.config_maps, kConfigMaps);
  await_version(caches.accounts, kServiceAccounts);
  await_version(caches.network_policies, kNetworkPolicies);
}

void WitnessedServer::await_version(const kube::Store& store, const kube::Resource& resource) {
  const std::string wanted = transport_.last_version(resource.plural);
  const auto end = server_.clock.now() + kPatience;
  while (kube::compare_versions(store.resource_version(), wanted) < 0) {
    ASSERT_LT(server_.clock.now(), end) << "no watch tells of " << resource.plural << " " << wanted;
    std::this_thread::yield();
  }
}

kube::Json WitnessedServer::job() {
  return all_of(jobs_.store()).at("train");
}

Objects WitnessedServer::pods() {
  return all_of(pods_.store());
}

Objects WitnessedServer::children(const kube::Resource& resource) {
  const auto page =
      client_.list({}, at(resource), {.label_selector = fmt::format("{}={}", labels::kManagedBy, kManager)});
  if (!page) ADD_FAILURE() << page.error().message;
  return page ? by_name(page->items) : Objects();
}

void WitnessedServer::set_suspended(bool suspended) {
  const auto merged = client_.merge({}, at(kJobs), "train",
                                    kube::JsonObject{{"spec", kube::JsonObject{{"suspend", suspended}}}});
  if (!merged) ADD_FAILURE() << merged.error().message;
}

}  // namespace caravan::controller::testing
