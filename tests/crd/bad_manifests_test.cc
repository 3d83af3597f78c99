// The real API server refuses what `caravan validate` refuses, at the same field and with the same sentence.
//
// The first line of each file under tests/bad_inputs/cases is what `caravan validate` says. The server has
// the sentence up to what it tells of values, which it shows in its own way.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include "common/testing/checkout.h"
#include "tests/crd/job_server.h"
#include "tests/crd/refusal.h"

namespace caravan::kube::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCases = "tests/bad_inputs/cases";

using Names = std::set<std::string>;

// No text of an object of this kind: the server refuses it before it knows of a schema.
const Names kNoJob = {
    "alias_of_nothing", "bad_indentation",      "colon_in_value", "decimal_not_a_number",
    "duplicate_field",  "duplicate_section",    "empty_key",      "escape_codes_in_a_name",
    "list_as_key",      "missing_api_version",  "missing_kind",   "missing_space_after_colon",
    "name_is_a_number", "namespace_upper_case", "only_a_list",    "only_comments",
    "only_text",        "tab_indentation",      "tabs_alone",     "template_left_in",
    "unclosed_quote",   "unclosed_bracket",     "wrong_kind",     "wrong_api_version",
};

// YAML that kubectl and the server take for something else than it looks like; the job that they read is
// right.
const Names kReadOtherwise = {
    "anchor",    "boolean_yes",   "exponent_for_integer",  "hexadecimal_integer",   "language_tag",
    "merge_key", "two_documents", "octal_looking_integer", "underscore_in_integer",
};

// Needs the table of presets or the search for a layout: the operator says it in the condition Planned.
const Names kForThePlanner = {
    "batch_too_small_for_any_layout",
    "layers_of_stages_do_not_add_up",
    "more_stages_than_layers_of_the_preset",
    "preset_heads_not_divisible_by_tensor",
    "tensor_beyond_a_node",
};

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(test::source_folder()) / kCases)) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_accepted(const std::string& name) {
  return kReadOtherwise.contains(name) || kForThePlanner.contains(name);
}

schema::Diagnostic first_error(const std::string& name, const std::string& text) {
  static const std::regex kLine(R"(# [^:]+(?::[0-9]+)?: ([^ ]+): (.*))");
  std::smatch match;
  const std::string line = text.substr(0, text.find('\n'));
  if (!std::regex_match(line, match, kLine)) {
    ADD_FAILURE() << name << ": its first line names no field: " << line;
    return {};
  }
  return {.path = match[1], .text = match[2]};
}

class BadManifest : public ::testing::TestWithParam<std::string> {
 protected:
  JobServer server_;
};

TEST_P(BadManifest, IsRefusedAsTheLoaderRefusesIt) {
  const std::string text = contents_of(fmt::format("{}/{}.yaml", kCases, GetParam()));
  const Answer answer = server_.create(text);
  if (is_accepted(GetParam())) {
    EXPECT_TRUE(answer.is_success()) << answer.message();
    return;
  }
  EXPECT_THAT(answer.status, ::testing::AnyOf(400, 422)) << answer.message();
  if (kNoJob.contains(GetParam())) return;
  const schema::Diagnostic loader = first_error(GetParam(), text);
  EXPECT_TRUE(is_refused_alike(answer, loader))
      << "caravan validate: " << loader.path << ": " << loader.text << "\nserver: " << answer.message();
}

INSTANTIATE_TEST_SUITE_P(All, BadManifest, ::testing::ValuesIn(case_names()),
                         [](const auto& info) { return info.param; });

TEST(BadManifests, AtLeastSixtyAreAMatterOfTheSchema) {
  const auto names = case_names();
  EXPECT_GE(std::count_if(names.begin(), names.end(),
                          [](const auto& name) { return !is_accepted(name) && !kNoJob.contains(name); }),
            60);
}

TEST(BadManifests, AreAllThere) {
  const auto names = case_names();
  for (const Names& listed : {kNoJob, kReadOtherwise, kForThePlanner}) {
    EXPECT_THAT(names, ::testing::IsSupersetOf(listed));
  }
}

}  // namespace
}  // namespace caravan::kube::testing
