#include "worker/trainer/loop/interlude.h"

namespace caravan::trainer {
namespace {

constexpr std::chrono::seconds kBetween{1};

}  // namespace

void Interlude::begin(int delayed_step) {
  delayed_step_ = delayed_step;
  tell(/*goes_on=*/false);
}

void Interlude::go_on(int64_t done, bool has_end) {
  if (Clock::now() - told_ < kBetween) return;
  if (done == done_ && !has_end) return;
  done_ = done;
  tell(/*goes_on=*/true);
}

void Interlude::tell(bool goes_on) {
  told_ = Clock::now();
  if (reporter_ != nullptr) reporter_->interlude(delayed_step_, goes_on);
}

}  // namespace caravan::trainer
