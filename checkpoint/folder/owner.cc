#include "checkpoint/folder/owner.h"

#include <fmt/format.h>

#include <vector>

namespace caravan::checkpoint {
namespace {

Result<std::vector<Owner>> owners_in(const Volume& volume) {
  const Result<std::vector<std::string>> names = volume.names("");
  if (!names) return tl::unexpected(names.error());
  std::vector<Owner> owners;
  for (const std::string& name : *names)
    if (auto owner = owner_named(name)) owners.push_back(*std::move(owner));
  return owners;
}

std::optional<Owner> latest_of(const std::vector<Owner>& owners) {
  std::optional<Owner> latest;
  for (const Owner& owner : owners)
    if (!latest || is_later(owner, *latest)) latest = owner;
  return latest;
}

// Ranks that were started by hand have no run, and number their attempts as they like.
bool is_later_attempt(const Owner& one, const Owner& other) {
  return !one.run.empty() && one.run == other.run && one.attempt > other.attempt;
}

tl::unexpected<Error> taken(const Volume& volume, const Owner& by) {
  return failure(fmt::format(
      "{}: attempt {} of job {} (run {}) has taken this folder over, and nothing of this attempt "
      "is saved any more: if two runs train here, stop one, and give each its own checkpoint.path",
      volume.shown(""), by.attempt, by.job, by.run));
}

}  // namespace

Result<Takeover> take_over(Volume& volume, Owner own) {
  const Result<std::vector<Owner>> owners = owners_in(volume);
  if (!owners) return tl::unexpected(owners.error());
  Takeover takeover{.own = std::move(own), .before = latest_of(*owners)};
  if (takeover.before && is_later_attempt(*takeover.before, takeover.own))
    return taken(volume, *takeover.before);
  takeover.own.number = takeover.before ? takeover.before->number + 1 : 1;
  if (const auto made = volume.open_output(owner_file(takeover.own)); !made)
    return tl::unexpected(made.error());
  // One that stays says nothing: its number is lower.
  for (const Owner& owner : *owners) (void)volume.remove_file(owner_file(owner));
  return takeover;
}

Status check_owner(const Volume& volume, const Owner& own) {
  const Result<std::vector<Owner>> owners = owners_in(volume);
  if (!owners) return tl::unexpected(owners.error());
  const std::optional<Owner> latest = latest_of(*owners);
  if (latest && is_later(*latest, own)) return taken(volume, *latest);
  return {};
}

}  // namespace caravan::checkpoint
