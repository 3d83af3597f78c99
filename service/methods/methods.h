// All methods of the service, for whatever serves them.
#pragma once

#include "service/methods/capacity_methods.h"
#include "service/methods/estimate_methods.h"
#include "service/methods/event_methods.h"
#include "service/methods/log_methods.h"
#include "service/methods/metrics_methods.h"
#include "service/methods/read_methods.h"
#include "service/methods/watch_methods.h"
#include "service/methods/write_methods.h"

namespace caravan::service {

struct Methods {
  ReadMethods& read;
  WriteMethods& write;
  WatchMethods& watch;
  EventMethods& events;
  LogMethods& logs;
  MetricsMethods& metrics;
  EstimateMethods& estimates;
  CapacityMethods& capacity;
};

}  // namespace caravan::service
