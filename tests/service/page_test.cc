// The page of the job service in headless Chromium, which tests/page/page_test.cjs drives, against the
// service's program, a real API server and its rights.
#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "common/testing/checkout.h"
#include "common/testing/shell.h"
#include "operator/api/names.h"
#include "tests/service/operated_service.h"

namespace caravan::service::testing {
namespace {

using kube::JsonArray;
using kube::JsonObject;

constexpr int kJobs = 1000;
constexpr char kMarkup[] = "<img src=x onerror=\"window.owned=1\"><script>window.owned=1</script>";

class PageTest : public OperatedService {
 protected:
  // A job that trains, with markup wherever somebody can write a text.
  void make_hostile_job(const Person& editor) {
    create_job("hostile");
    const JsonObject condition{{"type", "Planned"},
                               {"status", "True"},
                               {"reason", "HeuristicSelected"},
                               {"message", kMarkup},
                               {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
    const JsonObject status{
        {"state", "Running"},
        {"conditions", JsonArray{condition}},
        {"layout", "<img src=x onerror=window.owned=1>"},
        {"plan", JsonObject{{"reason", kMarkup}, {"tensor", 1}, {"pipeline", 1}, {"data", 2}}},
        {"predicted", JsonObject{{"memoryPerDevice", "4Gi"}, {"mfuPercent", "41.0"}}},
        {"progress", JsonObject{{"step", 3}, {"steps", 100}, {"percent", 3}, {"loss", "2.5"}}}};
    const auto written =
        server_.client().merge_status({}, server_.jobs(), "hostile", JsonObject{{"status", status}});
    ASSERT_TRUE(written) << written.error().message;
    const std::string uid = await_job(editor, "hostile").uid();
    report(uid, {1, 1}, 3.5f);
    report(uid, {1, 2}, 3.0f);
    report(uid, {2, 3}, 2.5f);
    history_->tell(uid);
  }

  void report(const std::string& uid, controller::StepCursor at, float loss) {
    const auto time = Clock::WallTime{} + std::chrono::hours(490'000) + std::chrono::minutes(at.step);
    history_->add(uid, {.at = at, .time = time, .peak_memory_bytes = 3LL << 30, .loss = loss, .mfu = 0.4f});
  }

  std::string setting() {
    const std::string port = http_address_.substr(http_address_.rfind(':') + 1);
    folder_.write("setting.json", boost::json::serialize(JsonObject{{"url", "https://localhost:" + port},
                                                                    {"namespace", server_.name_space()},
                                                                    {"editor", full_token("editor")},
                                                                    {"stranger", full_token("stranger")},
                                                                    {"jobs", kJobs}}));
    return folder_.path("setting.json");
  }
};

TEST_F(PageTest, ShowsAndChangesJobsInABrowser) {
  start_with_operator({"--http-listen", "127.0.0.1:0"});
  make_account("editor", {"get", "list", "watch", "create", "patch", "delete"});
  make_account("stranger", {});
  make_hostile_job(person(full_token("editor")));
  create_job("keyboard");
  for (int job = 2; job < kJobs; ++job) create_job(fmt::format("train-{}", job));
  const auto outcome = ::caravan::test::run_shell(fmt::format("node '{}/tests/page/page_test.cjs' '{}' 2>&1",
                                                              ::caravan::test::source_folder(), setting()));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
}

}  // namespace
}  // namespace caravan::service::testing
