// The real API server accepts what `caravan validate` accepts, and fills in the same defaults.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <boost/json/serialize.hpp>
#include <cctype>
#include <filesystem>

#include "cli/load_job.h"
#include "common/json.h"
#include "common/testing/checkout.h"
#include "tests/crd/job_server.h"

namespace caravan::kube::testing {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> good_files() {
  std::vector<std::string> files = {"tests/crd/jobs/everything.yaml"};
  for (const auto& entry : fs::directory_iterator(fs::path(test::source_folder()) / "examples")) {
    if (entry.path().extension() == ".yaml") files.push_back("examples/" + entry.path().filename().string());
  }
  return files;
}

class GoodManifest : public ::testing::TestWithParam<std::string> {
 protected:
  JobServer server_;
};

TEST_P(GoodManifest, IsAcceptedWithTheDefaultsOfTheLoader) {
  const std::string text = contents_of(GetParam());
  const Answer answer = server_.create(text);
  ASSERT_TRUE(answer.is_success()) << answer.message();
  const auto loaded = cli::parse_job(text, GetParam(), {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(*find(answer.body, {"spec"}), parse_json(to_json(loaded->job.spec()), "spec").value());
}

TEST_P(GoodManifest, ReadsBackFromTheServer) {
  const Answer answer = server_.create(contents_of(GetParam()));
  ASSERT_TRUE(answer.is_success()) << answer.message();
  const auto loaded = cli::parse_job(boost::json::serialize(answer.body), "answer.json", {});
  EXPECT_TRUE(loaded) << loaded.error().message;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = fs::path(info.param).stem().string();
  std::erase_if(name, [](unsigned char c) { return std::isalnum(c) == 0; });
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, GoodManifest, ::testing::ValuesIn(good_files()), test_name);

}  // namespace
}  // namespace caravan::kube::testing
