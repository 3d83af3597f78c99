#include "cli/check_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caravan::cli {
namespace {

v1alpha1::JobSpec job_on(int devices) {
  v1alpha1::JobSpec spec;
  spec.mutable_model()->set_preset("llama2-7b");
  spec.mutable_training()->set_steps(10);
  spec.mutable_training()->set_sequence_length(4096);
  spec.mutable_training()->set_global_batch_sequences(devices);
  spec.mutable_resources()->set_devices(devices);
  spec.mutable_resources()->mutable_device()->set_kind(v1alpha1::Device::GPU);
  return spec;
}

TEST(CheckLayout, TakesWhatSomeNodesWouldRun) {
  v1alpha1::JobSpec quarters = job_on(12);
  quarters.mutable_parallelism()->set_tensor(4);
  v1alpha1::JobSpec whole = job_on(16);
  whole.mutable_parallelism()->set_tensor(16);
  for (const v1alpha1::JobSpec& spec : {quarters, whole, job_on(200000)}) {
    const Status checked = check_layout("job.yaml", spec);
    EXPECT_TRUE(checked) << checked.error().message;
  }
}

TEST(CheckLayout, NamesTheFileOfALayoutThatNoDevicesCouldRun) {
  v1alpha1::JobSpec spec = job_on(24);
  spec.mutable_parallelism()->set_tensor(3);
  const Status checked = check_layout("job.yaml", spec);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ExitCode::kBadInput);
  EXPECT_THAT(checked.error().message, testing::StartsWith("job.yaml: spec.parallelism.tensor: "));
}

}  // namespace
}  // namespace caravan::cli
