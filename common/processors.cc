#include "common/processors.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <sstream>
#include <string>

#include "common/control_groups.h"
#include "common/file_contents.h"

namespace caravan {
namespace {

namespace fs = std::filesystem;

constexpr int kMostProcessors = 1 << 16;  // more than any kernel is built for

std::optional<int64_t> number_in(const fs::path& file) {
  const std::string text = file_contents(file).value_or("");
  int64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) return std::nullopt;
  return number;
}

// Of this process' mask, in the order of their numbers.
std::vector<int> numbers_in_mask() {
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask(CPU_ALLOC(kMostProcessors),
                                                              [](cpu_set_t* set) { CPU_FREE(set); });
  const std::size_t bytes = CPU_ALLOC_SIZE(kMostProcessors);
  CPU_ZERO_S(bytes, mask.get());
  std::vector<int> numbers;
  if (sched_getaffinity(0, bytes, mask.get()) != 0) return numbers;
  for (int number = 0; number < kMostProcessors; ++number)
    if (CPU_ISSET_S(number, bytes, mask.get())) numbers.push_back(number);
  return numbers;
}

// Package and core; a machine that does not say has one of each.
std::array<int64_t, 3> place_of(int processor, const fs::path& root) {
  const fs::path folder = root / fmt::format("sys/devices/system/cpu/cpu{}/topology", processor);
  return {number_in(folder / "physical_package_id").value_or(0), number_in(folder / "core_id").value_or(0),
          processor};
}

// In processors: time that a group may take in a period, divided by it. Of version 2 one file has both, and
// no limit is a word; of version 1 it is a negative number.
std::optional<double> quota_of(const ControlGroup& group, const fs::path& root) {
  const auto text = [&](const char* file) { return file_contents(root / group.file(file)).value_or(""); };
  std::istringstream numbers(group.version == 2 ? text("cpu.max")
                                                : text("cpu.cfs_quota_us") + " " + text("cpu.cfs_period_us"));
  double time = 0;
  double period = 0;
  if (!(numbers >> time >> period) || time <= 0 || period <= 0) return std::nullopt;
  return time / period;
}

}  // namespace

std::vector<int> allowed_processors(const fs::path& root) {
  std::vector<int> processors = numbers_in_mask();
  std::ranges::sort(processors, {}, [&](int processor) { return place_of(processor, root); });
  return processors;
}

std::optional<double> processor_quota(const fs::path& root) {
  std::optional<double> smallest;
  for (const ControlGroup& group :
       control_groups(file_contents(root / "proc/self/cgroup").value_or(""), "cpu")) {
    const std::optional<double> quota = quota_of(group, root);
    if (quota) smallest = std::min(*quota, smallest.value_or(*quota));
  }
  return smallest;
}

int usable_processors() {
  const auto allowed = static_cast<double>(numbers_in_mask().size());
  return std::max(1, static_cast<int>(std::min(allowed, processor_quota().value_or(allowed))));
}

std::vector<std::vector<int>> share_out(const std::vector<int>& processors, int parts) {
  std::vector<std::vector<int>> shares;
  const auto count = static_cast<std::ptrdiff_t>(processors.size());
  for (std::ptrdiff_t part = 0; part < parts; ++part) {
    shares.emplace_back(processors.begin() + count * part / parts,
                        processors.begin() + count * (part + 1) / parts);
  }
  return shares;
}

}  // namespace caravan
