#include "kube/api/names.h"

#include <gtest/gtest.h>

#include <string>

namespace caravan::kube {
namespace {

TEST(LabelValue, HasWhatTheApiServerTakes) {
  for (const std::string& good : {std::string("a"), std::string("Instinct_MI300X-OAM.1"),
                                  std::string("2b6c1a5e-0d0f-4c0e-8d7e-1f2a3b4c5d6e"), std::string(63, 'a')})
    EXPECT_TRUE(is_label_value(good)) << good;
  for (const std::string& bad :
       {std::string(), std::string("-a"), std::string("a."), std::string("H200 SXM"), std::string("a/b"),
        std::string("a\n"), std::string("\xc3\xa4"), std::string(64, 'a')})
    EXPECT_FALSE(is_label_value(bad)) << bad;
  EXPECT_TRUE(is_label_value(std::string(64, 'a'), 64));
}

}  // namespace
}  // namespace caravan::kube
