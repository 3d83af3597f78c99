// For tests: which cases of a long row a run tries.
//
// One of every few, others on the next day, so that days together try all of them. The day is
// CARAVAN_TEST_DAY, which ./dev test sets to that of the last commit, if it is not set: a commit's tests are
// the same whenever they run. It may be `all`, as in soak. Say the number of a case where it fails.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

namespace caravan::test {

class Sample {
 public:
  explicit Sample(std::size_t one_in) : one_in_(one_in) {
    const char* const day = std::getenv("CARAVAN_TEST_DAY");
    if (day == nullptr) return;
    if (std::string(day) == "all") one_in_ = 1;
    day_ = std::strtoul(day, nullptr, 10);
  }

  bool takes(std::size_t number) const { return (number + day_) % one_in_ == 0; }

 private:
  std::size_t one_in_;
  std::size_t day_ = 0;
};

// What a run tries of a row of cases.
template <typename Case>
std::vector<Case> sampled(const std::vector<Case>& row, std::size_t one_in) {
  const Sample sample(one_in);
  std::vector<Case> taken;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (sample.takes(i)) taken.push_back(row[i]);
  }
  return taken;
}

}  // namespace caravan::test
