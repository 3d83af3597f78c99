#include "service/access/shares.h"

#include <fmt/format.h>

#include <cmath>

namespace caravan::service {
namespace {

// Beyond so many, those who have asked for nothing lately are forgotten, which changes nothing for them.
constexpr std::size_t kManyCallers = 4096;

}  // namespace

std::string group_of_accounts(std::string_view user) {
  constexpr std::string_view kAccount = "system:serviceaccount:";
  if (!user.starts_with(kAccount)) return "";
  user.remove_prefix(kAccount.size());
  return fmt::format("system:serviceaccounts:{}", user.substr(0, user.find(':')));
}

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
  const std::string group = group_of_accounts(user);
  if (const auto room = find_room(user, limits_.streams); !room) return tl::unexpected(room.error());
  if (const auto room = find_room(group, 2 * limits_.streams); !group.empty() && !room)
    return tl::unexpected(room.error());
  ++streams_[user];
  if (!group.empty()) ++streams_[group];
  return Ticket(nullptr, [this, user, group](void*) {
    give_back(user);
    if (!group.empty()) give_back(group);
  });
}

Answer<void> Shares::find_room(const std::string& whose, int most) const {
  const auto found = streams_.find(whose);
  if (found == streams_.end() || found->second < most) return {};
  Fault full{.code = Code::kResourceExhausted,
             .reason = faults::kBusy,
             .message = fmt::format("{} has {} streams open, and may not have more", whose, found->second),
             .quotas = {{whose, "open streams"}}};
  full.retry_after = std::chrono::seconds(10);
  return tl::unexpected(std::move(full));
}

void Shares::forget_the_rested() {
  const auto now = clock_.now();
  std::erase_if(paces_, [now](const auto& entry) { return entry.second.is_rested(now); });
}

void Shares::give_back(const std::string& whose) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = streams_.find(whose); --found->second == 0) streams_.erase(found);
}

}  // namespace caravan::service
