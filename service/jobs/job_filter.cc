#include "service/jobs/job_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "common/schema/message_text.h"

namespace caravan::service {
namespace {

constexpr std::string_view kLabels = "labels.";
constexpr std::size_t kLongestFilter = 4096;
constexpr std::size_t kMostTerms = 32;

bool is_field(const std::string& name) {
  return name == "name" || name == "state" || name == "user" ||
         (name.starts_with(kLabels) && name.size() > kLabels.size());
}

std::string value_of(const JobEntry& job, const std::string& field) {
  if (field == "name") return std::string(job.object->name());
  if (field == "state") return job.state;
  if (field == "user") return job.user;
  const auto label = job.labels.find(field.substr(kLabels.size()));
  return label == job.labels.end() ? "" : label->second;
}

}  // namespace

class JobFilter::Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  Answer<JobFilter> parse() {
    JobFilter filter;
    for (skip_spaces(); !rest_.empty(); skip_spaces()) {
      if (!filter.terms_.empty() && !takes("AND ")) return expected("AND");
      auto term = next();
      if (!term) return tl::unexpected(std::move(term.error()));
      filter.terms_.push_back(std::move(*term));
      if (filter.terms_.size() > kMostTerms)
        return bad_field("filter", fmt::format("at most {} terms", kMostTerms));
    }
    return filter;
  }

 private:
  Answer<Term> next() {
    skip_spaces();
    Term term{.field = word("=!:"), .comparison = Comparison::kEqual, .value = {}};
    if (!is_field(term.field))
      return bad_field("filter", fmt::format("expected name, state, user or labels.KEY, got {}",
                                             schema::in_quotes(term.field)));
    skip_spaces();
    if (takes("!=")) {
      term.comparison = Comparison::kUnequal;
    } else if (takes(":")) {
      term.comparison = Comparison::kContains;
    } else if (!takes("=")) {
      return expected("=, != or :");
    }
    skip_spaces();
    if (!takes("\"")) {
      term.value = word("\"");
      return term;
    }
    const std::size_t end = rest_.find('"');
    if (end == std::string_view::npos) return expected("a second quotation mark");
    term.value = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return term;
  }

  tl::unexpected<Fault> expected(const char* what) const {
    return bad_field("filter", fmt::format("expected {} at {}, such as state=Running AND labels.team=nlp",
                                           what, rest_.empty() ? "the end" : schema::in_quotes(rest_)));
  }
  // Up to a space, or one of the others.
  std::string word(std::string_view ends) {
    const auto end = std::ranges::find_if(
        rest_, [ends](char c) { return c == ' ' || ends.find(c) != std::string_view::npos; });
    std::string found(rest_.begin(), end);
    rest_.remove_prefix(found.size());
    return found;
  }
  bool takes(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  std::string_view rest_;
};

Answer<JobFilter> JobFilter::parse(const std::string& text) {
  if (text.size() > kLongestFilter)
    return bad_field("filter", fmt::format("at most {} characters", kLongestFilter));
  return Parser(text).parse();
}

bool JobFilter::matches(const JobEntry& job) const {
  return std::ranges::all_of(terms_, [&](const Term& term) {
    const std::string value = value_of(job, term.field);
    switch (term.comparison) {
      case Comparison::kEqual:
        return value == term.value;
      case Comparison::kUnequal:
        return value != term.value;
      case Comparison::kContains:
        return value.find(term.value) != std::string::npos;
    }
    return false;
  });
}

}  // namespace caravan::service
