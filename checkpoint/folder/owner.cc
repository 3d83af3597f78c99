#include "checkpoint/folder/owner.h"

#include <fmt/format.h>

#include <vector>

namespace caravan::checkpoint {
namespace {

// Each is lost only to another attempt that begins in the same moment.
constexpr int kMostTries = 16;

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
bool are_of_one_run(const Owner& one, const Owner& other) {
  return !one.run.empty() && one.run == other.run;
}

tl::unexpected<Error> refused(const Volume& volume, const Owner& by) {
  return failure(fmt::format("{}: attempt {} of this job was here already; a later attempt follows by itself",
                             volume.shown(""), by.attempt));
}

tl::unexpected<Error> taken(const Volume& volume, const Owner& by, const Owner& from) {
  constexpr const char* kEnd = "has taken this folder over, and nothing of this attempt is saved any more";
  if (are_of_one_run(by, from))
    return failure(fmt::format("{}: attempt {} of this job {}", volume.shown(""), by.attempt, kEnd));
  return failure(
      fmt::format("{}: {} {}: if two runs train here, stop one, and give each its own checkpoint.path",
                  volume.shown(""), shown_owner(by), kEnd));
}

tl::unexpected<Error> numbers_are_used_up(const Volume& volume, const Owner& by) {
  return failure(
      fmt::format("{}: no number is higher than that of this record; remove it if nobody trains here",
                  volume.shown(owner_file(by))));
}

// One take-over, in as many tries as others take over meanwhile.
class TakingOver {
 public:
  TakingOver(Volume& volume, Owner own) : volume_(volume), end_{.own = std::move(own), .before = {}} {
    end_.own.number = 0;
  }

  Result<Takeover> run() {
    Status made;
    for (int tries = 0; tries <= kMostTries; ++tries) {
      const Result<std::vector<Owner>> owners = owners_in(volume_);
      if (!owners) return tl::unexpected(owners.error());
      const std::optional<Owner> latest = latest_of(*owners);
      // Whatever was answered: the name is there (NFS).
      if (latest == end_.own) {
        remove_others(*owners);
        return std::move(end_);
      }
      if (end_.own.number > 0) (void)volume_.remove_file(owner_file(end_.own));  // that others are above
      if (latest && are_of_one_run(*latest, end_.own) && latest->attempt > end_.own.attempt)
        return refused(volume_, *latest);
      if (!made && latest == end_.before) return tl::unexpected(made.error());
      if (latest && latest->number == kLastOwnerNumber) return numbers_are_used_up(volume_, *latest);
      made = make_record_above(latest);
    }
    return failure(
        fmt::format("{}: {} others have taken this folder over in the same moment: see who begins there",
                    volume_.shown(""), kMostTries));
  }

 private:
  Status make_record_above(const std::optional<Owner>& latest) {
    end_.before = latest;
    end_.own.number = latest ? latest->number + 1 : 1;
    if (latest) return volume_.rename(owner_file(*latest), owner_file(end_.own));
    return volume_.open_output(owner_file(end_.own)).map([](const auto&) {});
  }

  // One that stays says nothing: its number is lower.
  void remove_others(const std::vector<Owner>& owners) {
    for (const Owner& owner : owners)
      if (owner != end_.own) (void)volume_.remove_file(owner_file(owner));
  }

  Volume& volume_;
  Takeover end_;
};

}  // namespace

std::string shown_owner(const Owner& owner) {
  return fmt::format("attempt {} of job {} (run {})", owner.attempt, owner.job, owner.run);
}

Result<Takeover> take_over(Volume& volume, Owner own) {
  return TakingOver(volume, std::move(own)).run();
}

Status check_owner(const Volume& volume, const Owner& own) {
  const Result<std::vector<Owner>> owners = owners_in(volume);
  if (!owners) return tl::unexpected(owners.error());
  const std::optional<Owner> latest = latest_of(*owners);
  if (latest && is_later(*latest, own)) return taken(volume, *latest, own);
  return {};
}

}  // namespace caravan::checkpoint
