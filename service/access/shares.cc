#include "service/access/shares.h"

#include <fmt/format.h>

#include <cmath>

namespace caravan::service {
namespace {

// Beyond so many, those who have asked for nothing lately are forgotten, which changes nothing for them.
constexpr std::size_t kManyCallers = 4096;

}  // namespace

Answer<void> Shares::take_request(const std::string& user) {
  const std::scoped_lock lock(mutex_);
  if (paces_.size() >= kManyCallers) forget_the_rested();
  auto& pace = paces_.try_emplace(user, limits_.requests_per_second, limits_.burst).first->second;
  if (pace.try_take(clock_.now())) return {};
  Fault slower{
      .code = Code::kResourceExhausted,
      .reason = faults::kRate,
      .message = fmt::format("{} may make {:g} requests a second", user, limits_.requests_per_second),
      .quotas = {{user, "requests a second"}}};
  slower.retry_after = std::chrono::milliseconds(std::lround(std::ceil(1000 / limits_.requests_per_second)));
  return tl::unexpected(std::move(slower));
}

Answer<Shares::Ticket> Shares::take_stream(const std::string& user) {
  const std::scoped_lock lock(mutex_);
  int& open = streams_[user];
  if (open >= limits_.streams) {
    Fault full{.code = Code::kResourceExhausted,
               .reason = faults::kBusy,
               .message = fmt::format("{} has {} streams open, and may not have more", user, open),
               .quotas = {{user, "open streams"}}};
    full.retry_after = std::chrono::seconds(10);
    return tl::unexpected(std::move(full));
  }
  ++open;
  return Ticket(nullptr, [this, user](void*) { give_back(user); });
}

void Shares::forget_the_rested() {
  const auto now = clock_.now();
  std::erase_if(paces_, [now](const auto& entry) { return entry.second.is_rested(now); });
}

void Shares::give_back(const std::string& user) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = streams_.find(user); --found->second == 0) streams_.erase(found);
}

}  // namespace caravan::service
