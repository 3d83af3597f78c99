// The places of the report service: who may have a stream open, and how fast each pod may tell.
//
// A stream takes some 100 kB (a connection with TLS), so there are fewer places than there may be jobs.
// Coordinators take turns: when all places are taken, a newcomer gets that of the stream that has been open
// longest, of the namespace that has most, unless that one has only just begun and the newcomer's namespace
// has about as many. Whoever has lost its place comes again and tells where its job stands. So many jobs of
// one tenant crowd out each other, and nobody else. The pace is the pod's, however often it opens a stream.
// Safe for any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "common/clock.h"
#include "serving/pace.h"

namespace caravan::controller {

class PodReportStream;

class ReportPlaces {
 public:
  using Stream = std::shared_ptr<PodReportStream>;
  struct Limits {
    std::size_t places = 1024;
    std::chrono::milliseconds shortest_turn{1'000};
    double reports_per_second = 50;  // of a pod, on the long run
    double burst = 200;
  };
  struct Admission {
    bool admitted = false;
    Stream former = {};       // of the same pod, until now
    Stream crowded_out = {};  // of another one, whose turn is over
  };

  explicit ReportPlaces(const Limits& limits) : limits_(limits) {}

  Admission admit(const std::string& name_space, const std::string& pod_uid, const Stream& stream,
                  Clock::TimePoint now);
  // The place is free, if it is still that stream's.
  void leave(const std::string& pod_uid, const PodReportStream& stream, Clock::TimePoint now);
  // How long the pod's next report has to wait.
  Clock::Duration reserve(const std::string& pod_uid, Clock::TimePoint now);

 private:
  struct Place {
    std::string name_space;
    Stream stream;
    Clock::TimePoint since;
    Pace pace;
  };
  using Places = std::map<std::string, Place>;  // by the UID of the pod
  using Turns = std::set<std::pair<Clock::TimePoint, std::string>>;

  Pace pace_of_one_who_comes(const std::string& pod_uid, Clock::TimePoint now);
  Places::iterator whose_turn_is_over(const std::string& newcomer, Clock::TimePoint now);
  Stream free(Places::iterator place, Clock::TimePoint now);

  const Limits limits_;
  std::mutex mutex_;
  Places places_;
  std::map<std::string, Turns> turns_;  // by namespace
  std::map<std::string, Pace> paces_;   // of pods without a place, until they are as good as new
};

}  // namespace caravan::controller
