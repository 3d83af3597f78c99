#include "worker/trainer/loop/joint_work.h"

#include <algorithm>
#include <utility>

#include "worker/trainer/comm/gather_rows.h"

namespace caravan::trainer {

JointWork::JointWork(Communicator& world, std::function<void(bool)> announce,
                     std::chrono::nanoseconds between)
    : world_(world), announce_(std::move(announce)), between_(between) {}

void JointWork::goes_on() {
  if (Clock::now() - met_ >= between_) meet(/*works=*/true, /*own=*/0);
}

int JointWork::end(int own) {
  Met met = meet(/*works=*/false, own);
  while (!met.all_have_ended) met = meet(/*works=*/false, own);
  return met.largest;
}

JointWork::Met JointWork::meet(bool works, int own) {
  Met met;
  for (const auto& [still_works, value] :
       gather_rows<2>(world_, {works ? 1.0 : 0.0, static_cast<double>(own)})) {
    met.all_have_ended = met.all_have_ended && still_works == 0;
    met.largest = std::max(met.largest, static_cast<int>(value));
  }
  if (!met.all_have_ended) announce_(std::exchange(is_announced_, true));
  met_ = Clock::now();
  return met;
}

}  // namespace caravan::trainer
