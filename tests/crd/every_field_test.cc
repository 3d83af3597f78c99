// For each field of the schema, values around its bounds: the real API server and the loader judge alike.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <limits>
#include <optional>
#include <sstream>

#include "caravan/v1alpha1/job.pb.h"
#include "cli/load_job.h"
#include "common/json.h"
#include "common/schema/field_rules.h"
#include "common/testing/sample.h"
#include "tests/crd/job_server.h"
#include "tests/crd/refusal.h"

namespace caravan::kube::testing {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr const char* kFile = "tests/crd/jobs/everything.yaml";
constexpr const char* kName = "job.json";

struct Trial {
  std::string path;  // spec.worker.env[0].name
  Json job;
};

JsonArray numbers_around(const v1alpha1::FieldRules& rules) {
  const std::int64_t beyond = std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1;
  JsonArray values = {beyond, "1", 1.5, true};
  if (rules.has_minimum()) values.insert(values.end(), {rules.minimum() - 1, rules.minimum()});
  if (rules.has_maximum()) values.insert(values.end(), {rules.maximum(), rules.maximum() + 1});
  return values;
}

JsonArray texts_around(const FieldDescriptor& field) {
  const v1alpha1::FieldRules& rules = schema::rules_of(field);
  JsonArray values = {"", "a b", "\t", "-1", "1e99", 7, false};
  for (const std::string& choice : schema::choices_of(field)) values.push_back(Json(choice));
  if (rules.max_length() > 0) {
    values.push_back(Json(std::string(rules.max_length(), 'a')));
    values.push_back(Json(std::string(rules.max_length() + 1, 'a')));
  }
  for (const std::string& bound : {rules.decimal_minimum(), rules.decimal_maximum()}) {
    if (!bound.empty()) values.push_back(Json(bound));
  }
  return values;
}

JsonArray values_around(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return numbers_around(schema::rules_of(field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return {true, false, "true", 1};
    default:
      return texts_around(field);
  }
}

// Walks a job that has every field, and remembers it with each value of each field.
class Trials {
 public:
  explicit Trials(Json job) : job_(std::move(job)) {}

  std::vector<Trial> take() {
    visit(*v1alpha1::JobSpec::descriptor(), "spec", job_.at("spec").as_object());
    return std::move(trials_);
  }

 private:
  void visit(const Descriptor& type, const std::string& path, JsonObject& object) {
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      Json* value = object.if_contains(field.json_name());
      if (value == nullptr || field.is_map()) continue;
      visit_value(field, fmt::format("{}.{}", path, field.json_name()), *value);
    }
  }

  // Of a list of values, the first entry stands for all; of messages each may have other fields.
  void visit_value(const FieldDescriptor& field, const std::string& path, Json& value) {
    if (!field.is_repeated()) return visit_one(field, path, value);
    JsonArray& entries = value.as_array();
    const bool is_message = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    for (std::size_t i = 0; i < (is_message ? entries.size() : 1); ++i)
      visit_one(field, fmt::format("{}[{}]", path, i), entries.at(i));
  }

  void visit_one(const FieldDescriptor& field, const std::string& path, Json& one) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return visit(*field.message_type(), path, one.as_object());
    }
    const Json before = one;
    for (const Json& tried : values_around(field)) {
      one = tried;
      trials_.push_back({.path = path, .job = job_});
    }
    one = before;
  }

  Json job_;
  std::vector<Trial> trials_;
};

Json job_with_every_field() {
  const auto loaded = cli::parse_job(contents_of(kFile), kFile, {});
  if (!loaded) ADD_FAILURE() << loaded.error().message;
  return parse_json(to_json(loaded.value_or(cli::LoadedJob{}).job), kFile).value_or(Json{});
}

// What the loader says about that field; of two remarks the first. Numbers that it takes for text are
// remarkable too: it says that the server will not.
std::optional<schema::Diagnostic> diagnostic_of_the_loader(const Trial& trial) {
  const auto loaded = cli::parse_job(boost::json::serialize(trial.job), kName, {});
  std::istringstream lines(loaded ? fmt::format("{}", fmt::join(loaded->notes, "\n"))
                                  : loaded.error().message);
  const std::string start = fmt::format("{}:1: {}: ", kName, trial.path);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(start)) return schema::Diagnostic{1, trial.path, line.substr(start.size())};
  }
  return std::nullopt;
}

bool speaks_of(const Answer& answer, const std::string& path) {
  for (const Cause& cause : answer.causes()) {
    if (cause.field == path) return true;
  }
  return false;
}

TEST(EveryField, IsJudgedAlikeByTheServerAndTheLoader) {
  JobServer server;
  const test::Sample sample(3);
  const std::vector<Trial> trials = Trials(job_with_every_field()).take();
  int tried = 0;
  int refused = 0;
  for (std::size_t number = 0; number < trials.size(); ++number) {
    if (!sample.takes(number)) continue;
    const Trial& trial = trials[number];
    ++tried;
    const auto diagnostic = diagnostic_of_the_loader(trial);
    const Answer answer = server.try_out(boost::json::serialize(trial.job));
    refused += diagnostic ? 1 : 0;
    if (diagnostic) {
      EXPECT_TRUE(is_refused_alike(answer, *diagnostic))
          << "loader: " << trial.path << ": " << diagnostic->text << "\nserver: " << answer.message();
    } else {
      EXPECT_FALSE(speaks_of(answer, trial.path)) << "the loader does not mind, but: " << answer.message();
    }
  }
  EXPECT_GE(refused, tried / 4) << "the trials reach most bounds";
}

}  // namespace
}  // namespace caravan::kube::testing
