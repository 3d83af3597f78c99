// Which jobs a list or watch is about: AIP-160, of name, state, user and labels.KEY with =, != and :
// (contains), joined by AND. Pure.
#pragma once

#include <string>
#include <vector>

#include "service/jobs/job_feed.h"

namespace caravan::service {

class JobFilter {
 public:
  // Empty: every job. Errors name the place.
  static Answer<JobFilter> parse(const std::string& text);

  bool matches(const JobEntry& job) const;

 private:
  enum class Comparison { kEqual, kUnequal, kContains };
  struct Term {
    std::string field;  // labels.KEY, or another
    Comparison comparison;
    std::string value;
  };
  class Parser;

  std::vector<Term> terms_;
};

}  // namespace caravan::service
