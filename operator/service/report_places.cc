#include "operator/service/report_places.h"

#include <algorithm>

namespace caravan::controller {

ReportPlaces::Admission ReportPlaces::admit(const std::string& name_space, const std::string& pod_uid,
                                            const Stream& stream, Clock::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  Admission admission;
  if (const auto own = places_.find(pod_uid); own != places_.end()) {
    admission.former = free(own, now);
  } else if (places_.size() >= limits_.places) {
    const auto other = whose_turn_is_over(name_space, now);
    if (other == places_.end()) return admission;
    admission.crowded_out = free(other, now);
  }
  places_.emplace(pod_uid, Place{name_space, stream, now, pace_of_one_who_comes(pod_uid, now)});
  turns_[name_space].emplace(now, pod_uid);
  admission.admitted = true;
  return admission;
}

void ReportPlaces::leave(const std::string& pod_uid, const PodReportStream& stream, Clock::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  const auto place = places_.find(pod_uid);
  if (place != places_.end() && place->second.stream.get() == &stream) free(place, now);
}

Clock::Duration ReportPlaces::reserve(const std::string& pod_uid, Clock::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  const auto place = places_.find(pod_uid);
  return place != places_.end() ? place->second.pace.reserve(now) : Clock::Duration::zero();
}

Pace ReportPlaces::pace_of_one_who_comes(const std::string& pod_uid, Clock::TimePoint now) {
  std::erase_if(paces_, [now](const auto& entry) { return entry.second.is_rested(now); });
  auto known = paces_.extract(pod_uid);
  return known ? known.mapped() : Pace(limits_.reports_per_second, limits_.burst);
}

ReportPlaces::Places::iterator ReportPlaces::whose_turn_is_over(const std::string& newcomer,
                                                                Clock::TimePoint now) {
  const auto most = std::max_element(turns_.begin(), turns_.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  if (most == turns_.end()) return places_.end();
  const auto& [since, pod_uid] = *most->second.begin();
  const auto own = turns_.find(newcomer);
  const std::size_t has = own == turns_.end() ? 0 : own->second.size();
  const bool comes_short = has + 1 < most->second.size();
  return comes_short || now - since >= limits_.shortest_turn ? places_.find(pod_uid) : places_.end();
}

ReportPlaces::Stream ReportPlaces::free(Places::iterator place, Clock::TimePoint now) {
  auto& [pod_uid, held] = *place;
  const auto of_namespace = turns_.find(held.name_space);
  of_namespace->second.erase({held.since, pod_uid});
  if (of_namespace->second.empty()) turns_.erase(of_namespace);
  if (!held.pace.is_rested(now)) paces_.insert_or_assign(pod_uid, held.pace);
  Stream stream = std::move(held.stream);
  places_.erase(place);
  return stream;
}

}  // namespace caravan::controller
