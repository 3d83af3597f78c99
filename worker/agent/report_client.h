// Sends the job's reports to a JobReports service, and brings back its commands.
//
// A slow reader never blocks the job (see report_backlog.h). A reader that is not there yet is waited for. On
// one machine, one that goes away is not missed: the job goes on, and is told in the agent's log. On a
// cluster (over TLS) it is looked for again, also when it is gone without a word, with the token and the
// authority read anew since both change, and told where the job stands.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "caravan/v1alpha1/coordination.pb.h"

namespace caravan::agent {

struct ReportTarget {
  std::string address;
  std::string authority_file = {};  // PEM; empty: no TLS
  std::string token_file = {};
  std::chrono::milliseconds first_pause{1'000};  // before it is looked for again; doubles up to the longest
  std::chrono::milliseconds longest_pause{30'000};
  std::chrono::milliseconds ping_period{
      10'000};  // it is left when it does not answer within another of these
};

class ReportClient {
 public:
  virtual ~ReportClient() = default;
  // Called by another thread, for each command.
  struct Commands {
    std::function<void()> stop;
    std::function<void(const std::string& request)> save;
  };
  static std::unique_ptr<ReportClient> connect(const ReportTarget& target, Commands commands);
  virtual void tell(v1alpha1::JobReport report) = 0;
  // Until what was told is on its way, as far as there is a reader; not longer than that.
  virtual void wait_until_sent(std::chrono::milliseconds patience) = 0;
  // Until the reader has acknowledged the result; false when it did not within `patience`.
  virtual bool wait_for_acknowledgement(std::chrono::milliseconds patience) = 0;
};

}  // namespace caravan::agent
