#include "planner/memory/stage_parameters.h"

#include <algorithm>
#include <initializer_list>
#include <numeric>

#include "planner/work/constants.h"

namespace caravan::planner {
namespace {

class Buckets {
 public:
  explicit Buckets(const Layout& layout)
      : padding_(std::lcm<int64_t>(layout.mesh.data, kParameterAlignment)),
        data_(layout.mesh.data),
        shards_(layout.zero_stage >= 1 ? layout.mesh.data : 1) {}

  void add(std::initializer_list<int64_t> parameters, int64_t count = 1) {
    int64_t bucket = 0;
    for (const int64_t elements : parameters) bucket += round_up(elements, kParameterAlignment);
    bucket = round_up(bucket, padding_);
    total_.values += count * bucket;
    total_.states += count * (bucket / shards_);
    total_.largest_slice = std::max(total_.largest_slice, bucket / data_);
  }

  StageElements total() const { return total_; }

 private:
  int64_t padding_;
  int64_t data_;
  int64_t shards_;
  StageElements total_;
};

}  // namespace

StageElements stage_elements(const ModelShape& shape, const Layout& layout, const Placement& placement,
                             int stage) {
  const int64_t tensor = layout.mesh.tensor;
  const int64_t hidden = shape.hidden;
  const int64_t query = shape.heads * shape.head_dim / tensor;
  const int64_t key = shape.kv_heads * shape.head_dim / tensor;
  const int64_t ffn = shape.ffn / tensor;
  const int64_t table = (shape.vocab + tensor - 1) / tensor * hidden;
  const bool has_embedding = stage == placement.embedding_stage();
  const bool has_head = stage == placement.head_stage();
  const bool shares_table = shape.tied_embeddings && has_embedding;

  Buckets buckets(layout);
  if (has_embedding) buckets.add({table});
  buckets.add({hidden, (query + 2 * key) * hidden, query * hidden, hidden, 2 * ffn * hidden, ffn * hidden},
              placement.layers_of(stage));
  if (has_head) buckets.add({hidden});
  if (has_head && !shares_table) buckets.add({table});
  return buckets.total();
}

}  // namespace caravan::planner
