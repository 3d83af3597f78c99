#include <algorithm>

#include "worker/trainer/cuda/embedding.h"

namespace caravan::cuda {

void embedding_order(const std::int64_t* token, std::int64_t tokens, std::int64_t first_token,
                     std::int64_t vocabulary, const EmbeddingOrder& order) {
  const auto is_here = [&](std::int64_t id) { return id >= first_token && id < first_token + vocabulary; };
  std::int32_t here = 0;
  for (std::int32_t place = 0; place < tokens; ++place)
    if (is_here(token[place])) order.position[here++] = place;
  std::sort(order.position, order.position + here, [token](std::int32_t a, std::int32_t b) {
    return token[a] != token[b] ? token[a] < token[b] : a < b;
  });
  std::int32_t groups = 0;
  for (std::int32_t i = 0; i < here; ++i) {
    const std::int64_t id = token[order.position[i]];
    if (i > 0 && id == token[order.position[i - 1]]) continue;
    order.row[groups] = static_cast<std::int32_t>(id - first_token);
    order.start[groups++] = i;
  }
  std::fill(order.row + groups, order.row + tokens, 0);
  std::fill(order.position + here, order.position + tokens, 0);
  std::fill(order.start + groups, order.start + tokens + 1, here);
}

}  // namespace caravan::cuda
