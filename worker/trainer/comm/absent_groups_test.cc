#include "worker/trainer/comm/absent_groups.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace caravan::trainer {
namespace {

TEST(AbsentGroups, KnowWhoARankIsAndRefuseToTalk) {
  const Mesh mesh = form_mesh({.tensor = 8, .data = 64, .pipeline = 16},
                              {.embedding = 0, .head = 15, .tied = true}, 8191, absent_groups());
  EXPECT_EQ(mesh.world->rank(), 8191);
  EXPECT_EQ(mesh.world->size(), 8192);
  EXPECT_EQ(mesh.data->size(), 64);
  EXPECT_EQ(mesh.embedding->rank(), 1) << "with the head";
  at::Tensor values = at::zeros({64});
  EXPECT_THROW(mesh.tensor->all_reduce(values, Reduction::Sum), CommunicationError);
  EXPECT_THROW(mesh.pipeline->send(values, 0, 1), CommunicationError);
  try {
    mesh.world->barrier();
  } catch (const CommunicationError& error) {
    EXPECT_STREQ(error.what(), "barrier of group tensor-63-15: in a dry run no other rank is there");
    return;
  }
  FAIL() << "the barrier let the rank through";
}

}  // namespace
}  // namespace caravan::trainer
