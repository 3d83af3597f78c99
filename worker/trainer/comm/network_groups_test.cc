#include "worker/trainer/comm/network_groups.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace caravan::trainer {
namespace {

struct Wish {
  const char* variable;
  const char* value;
  const char* refusal;
};

TEST(NetworkGroups, WhatTheEnvironmentWantsInVainIsBadInput) {
  for (const Wish& wish :
       {Wish{"CARAVAN_COMM", "tcp",
             "CARAVAN_COMM is 'tcp': take gloo, or fake for a dry run of one rank, or leave it out"},
        Wish{"CARAVAN_OVERLAP", "yes", "CARAVAN_OVERLAP is 'yes': take on or off, or leave it out"}}) {
    setenv(wish.variable, wish.value, /*overwrite=*/1);
    const Result<GroupFactory> groups = network_groups({});
    unsetenv(wish.variable);
    ASSERT_FALSE(groups) << wish.variable;
    EXPECT_EQ(groups.error().code, ExitCode::kBadInput) << wish.variable;
    EXPECT_EQ(groups.error().message, wish.refusal);
  }
}

TEST(NetworkGroups, AnEmptyWishIsNone) {
  for (const char* variable : {"CARAVAN_COMM", "CARAVAN_OVERLAP"}) {
    setenv(variable, "", /*overwrite=*/1);
    const Result<GroupFactory> groups = network_groups({});
    unsetenv(variable);
    EXPECT_TRUE(groups) << groups.error().message;
  }
}

}  // namespace
}  // namespace caravan::trainer
