// The JobReports service of a local run, on a Unix socket: what the coordinator tells comes out as values, in
// order, and commands go back.
//
// gRPC's threads never leave this room: the owner polls a descriptor that becomes readable when there is
// something to take. A coordinator that dies and comes back opens a new stream; commands go to the newest
// one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "caravan/v1alpha1/coordination.pb.h"
#include "common/result.h"

namespace caravan::cli {

class ReportServer {
 public:
  // address: "unix:PATH".
  static Result<ReportServer> start(const std::string& address);

  ReportServer(ReportServer&&) noexcept;
  ReportServer& operator=(ReportServer&&) = delete;
  ~ReportServer();

  // Readable while reports wait.
  int descriptor() const;
  std::vector<v1alpha1::JobReport> take();
  // False when no coordinator listens.
  bool send(const v1alpha1::ReportCommand& command);

 private:
  struct Implementation;
  explicit ReportServer(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace caravan::cli
