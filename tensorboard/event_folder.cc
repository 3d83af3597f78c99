#include "tensorboard/event_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <span>

namespace caravan::tensorboard {
namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";  // by which TensorBoard knows them
constexpr std::size_t kDigits = 10;
constexpr int64_t kLastNumber = 9'999'999'999;
constexpr double kSyncSeconds = 30;

// Of an event file, by whomever: seconds since 1970, as a rule. 0 for other names.
int64_t number_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || name.size() < kPrefix.size() + kDigits) return 0;
  const std::string_view digits = name.substr(kPrefix.size(), kDigits);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? std::max<int64_t>(number, 0) : 0;
}

}  // namespace

std::string next_event_file(const std::vector<std::string>& names, double wall_seconds, int attempt,
                            std::string_view run) {
  auto number = static_cast<int64_t>(wall_seconds);
  for (const std::string& name : names) number = std::max(number, number_of(name) + 1);
  return fmt::format("{}{:0{}}.attempt-{}.{}", kPrefix, std::min(number, kLastNumber), kDigits, attempt, run);
}

Status EventFolder::add(int attempt, const StepScalars& step) {
  Status added = write(attempt, step);
  if (!added) {  // a server that came back may know neither any more
    file_.reset();
    volume_.reset();
  }
  return added;
}

Status EventFolder::write(int attempt, const StepScalars& step) {
  if (!file_ || attempt != attempt_) {
    if (Status opened = open_file(attempt, step.wall_seconds); !opened) return opened;
  }
  std::string bytes;
  if (written_ == 0) bytes = opening_record(step.wall_seconds) + restart_record(step.wall_seconds, step.step);
  bytes += scalars_record(step);
  if (Status written = file_->write(written_, std::as_bytes(std::span(bytes))); !written) return written;
  written_ += static_cast<int64_t>(bytes.size());
  if (step.wall_seconds - synced_at_ < kSyncSeconds) return {};
  synced_at_ = step.wall_seconds;
  return file_->sync().and_then([this] { return check_file(); });
}

Status EventFolder::open_file(int attempt, double wall_seconds) {
  if (!volume_) {
    auto volume = open_(place_.path);
    if (!volume) return tl::unexpected(volume.error());
    volume_ = std::move(*volume);
  }
  if (attempt != attempt_ || !check_file()) {
    if (Status chosen = choose_file(attempt, wall_seconds); !chosen) return chosen;
  }
  auto file = volume_->open_output(path_);
  if (!file) return tl::unexpected(file.error());
  file_ = std::move(*file);
  return {};
}

// Whether what was written is still there, by its name.
Status EventFolder::check_file() const {
  const auto file = volume_->open_input(path_);
  if (!file) return tl::unexpected(file.error());
  if ((*file)->size() >= written_) return {};
  return failure(fmt::format("{}: has lost what was written", volume_->shown(path_)));
}

Status EventFolder::choose_file(int attempt, double wall_seconds) {
  const auto names = names_in_folder();
  if (!names) return tl::unexpected(names.error());
  const std::filesystem::path folder = place_.folder;
  path_ = folder / next_event_file(*names, wall_seconds, attempt, run_);
  attempt_ = attempt;
  written_ = 0;
  synced_at_ = wall_seconds;
  return {};
}

Result<std::vector<std::string>> EventFolder::names_in_folder() {
  if (!place_.folder.empty()) {
    const auto above = volume_->names("");
    if (!above) return tl::unexpected(above.error());
    if (!std::ranges::binary_search(*above, place_.folder)) {
      if (Status made = volume_->make_folder(place_.folder); !made) return tl::unexpected(made.error());
    }
  }
  return volume_->names(place_.folder);
}

}  // namespace caravan::tensorboard
