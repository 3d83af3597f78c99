#include "worker/trainer/kernels/embedding.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace caravan::kernels {
namespace {

const int64_t kTokens[] = {3, 0, 5, 3, 7, 3};

TEST(Embedding, ShardsAddUpToTheWholeLookup) {
  const at::Tensor tokens = at::tensor(at::ArrayRef<int64_t>(kTokens));
  const at::Tensor table_VD = at::randn({8, 300}, at::kDouble);
  const at::Tensor low = embedding_forward(tokens, table_VD.narrow(0, 0, 4), 0);
  const at::Tensor high = embedding_forward(tokens, table_VD.narrow(0, 4, 4), 4);
  EXPECT_TRUE(at::equal(low + high, at::embedding(table_VD, tokens)));
}

TEST(Embedding, GradientsOfATokenThatOccursOftenAddUp) {
  const at::Tensor tokens = at::tensor(at::ArrayRef<int64_t>(kTokens));
  const at::Tensor dy_TD = at::randint(-5, 6, {6, 300}, at::kFloat);
  at::Tensor dtable_VD = at::ones({4, 300}, at::kFloat);
  embedding_backward(dy_TD.to(at::kBFloat16), tokens, dtable_VD, 2);  // holds tokens 2 to 5
  EXPECT_TRUE(at::equal(dtable_VD[0], at::ones({300})));
  EXPECT_TRUE(at::equal(dtable_VD[1], 1 + dy_TD[0] + dy_TD[3] + dy_TD[5]));
  EXPECT_TRUE(at::equal(dtable_VD[2], at::ones({300})));
  EXPECT_TRUE(at::equal(dtable_VD[3], 1 + dy_TD[2]));
}

}  // namespace
}  // namespace caravan::kernels
