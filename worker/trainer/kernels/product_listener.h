// Hears of every matrix product of a linear layer on the thread that makes it, before anything is allocated
// for it: how tests hold the trainer against the table of work.
//
// Shapes: T tokens, O outputs, I inputs, of this rank. One listener a thread; the innermost scope counts.
#pragma once

#include <cstdint>

namespace caravan::kernels {

class ProductListener {
 public:
  virtual ~ProductListener() = default;
  virtual void product(int64_t tokens, int64_t outputs, int64_t inputs) = 0;
};

// Until the scope ends.
class HearProducts {
 public:
  explicit HearProducts(ProductListener& listener);
  ~HearProducts();
  HearProducts(const HearProducts&) = delete;
  HearProducts& operator=(const HearProducts&) = delete;

 private:
  ProductListener* const outer_;
};

// Of the scope that this thread is in, if any.
void tell_product(int64_t tokens, int64_t outputs, int64_t inputs);

}  // namespace caravan::kernels
