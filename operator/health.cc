#include "operator/health.h"

#include <fmt/format.h>

namespace caravan::controller {
namespace {

using namespace std::chrono_literals;

// A call ends within 30 s, and so do all calls of a reconcile within ReconcileOptions::timeout.
constexpr Clock::Duration kHung = 5min;

}  // namespace

std::optional<std::string> what_hangs(const Pulse& pulse) {
  if (!pulse.election_gets_on) return "the election hangs";
  const std::pair<const char*, Clock::Duration> threads[] = {{"a reconcile", pulse.reconcile},
                                                             {"a cache", pulse.cache},
                                                             {"the writer of events", pulse.event},
                                                             {"a review of a token", pulse.review}};
  for (const auto& [what, taken] : threads) {
    if (taken > kHung)
      return fmt::format("{} hangs, by now for {} s", what,
                         std::chrono::duration_cast<std::chrono::seconds>(taken).count());
  }
  return std::nullopt;
}

}  // namespace caravan::controller
