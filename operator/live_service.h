// The server of live metrics and of what is free, of the operator that leads, for as long as it leads.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "operator/service/live_server.h"

namespace caravan::controller {

class LiveService {
 public:
  // listen: HOST:PORT; host: under which the job service finds it. pools: null where nodes are not read. What
  // it tells of outlives the service.
  LiveService(StepHistory& history, PoolBoard* pools, std::string listen, std::string host)
      : history_(history), pools_(pools), listen_(std::move(listen)), host_(std::move(host)) {}

  // From now on with a certificate of that authority, which also signs the job service's.
  Status start(const KeyPair& authority);
  void stop();

 private:
  StepHistory& history_;
  PoolBoard* const pools_;
  const std::string listen_;
  const std::string host_;
  std::mutex mutex_;
  std::unique_ptr<LiveServer> server_;
};

}  // namespace caravan::controller
