// Which domains of the topology jobs have chosen for pods that are only being made: another job that chooses
// meanwhile would not see those, and choose the same.
//
// A job's claim stands from its decision until its next one, which sees its pods, or until a run could not
// begin to make these. They carry the domain, so whoever leads next finds it there, and a choice that no pod
// was made for is made anew. Who has chosen while another claimed domains chooses again. Safe for any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "operator/view/domain_survey.h"

namespace caravan::controller {

class DomainClaims {
 public:
  struct OfOthers {
    DomainDemands asked = {};
    std::uint64_t claims = 0;  // how many had been made until then
  };

  // To be looked at before the pods, or one that is made in between is seen by nobody.
  OfOthers of_others(const std::string& job_uid) const;
  // What the job has chosen, in place of what it claimed before. False: it has seen as many claims, and there
  // are more by now; nothing is changed.
  bool claim(const std::string& job_uid, DomainDemands chosen, std::uint64_t seen);
  // The job is gone, or none of its pods was begun to be made.
  void forget(const std::string& job_uid);

 private:
  mutable std::mutex mutex_;
  std::uint64_t claims_ = 0;                     // that were made
  std::map<std::string, DomainDemands> by_job_;  // UID; none is empty
};

}  // namespace caravan::controller
