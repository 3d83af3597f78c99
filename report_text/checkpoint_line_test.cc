#include "report_text/checkpoint_line.h"

#include <gtest/gtest.h>

namespace caravan {
namespace {

// The step may be the job's last.
TEST(CheckpointLine, OfOneThatFailedSaysNothingOfWhatFollows) {
  v1alpha1::CheckpointReport failed;
  failed.set_outcome(v1alpha1::CheckpointReport::Failed);
  failed.set_step(500);
  failed.set_message("no \x1Bspace left");
  EXPECT_EQ(failed_save_text(failed), "step 500 has no checkpoint: no space left");
  EXPECT_EQ(checkpoint_line(failed, {}), "CheckpointFailed: step 500 has no checkpoint: no space left");
}

TEST(CheckpointLine, OfOneThatCannotBeReadSaysWhy) {
  v1alpha1::CheckpointReport unusable;
  unusable.set_outcome(v1alpha1::CheckpointReport::Unusable);
  unusable.set_step(500);
  unusable.set_message("manifest.json: is not there");
  EXPECT_EQ(checkpoint_line(unusable, {}),
            "CheckpointUnusable: the one of step 500 cannot be used: manifest.json: is not there");
}

}  // namespace
}  // namespace caravan
