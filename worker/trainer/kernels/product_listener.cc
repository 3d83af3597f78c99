#include "worker/trainer/kernels/product_listener.h"

namespace caravan::kernels {
namespace {

thread_local ProductListener* scope_listener = nullptr;

}  // namespace

HearProducts::HearProducts(ProductListener& listener) : outer_(scope_listener) {
  scope_listener = &listener;
}

HearProducts::~HearProducts() {
  scope_listener = outer_;
}

void tell_product(int64_t tokens, int64_t outputs, int64_t inputs) {
  if (scope_listener != nullptr) scope_listener->product(tokens, outputs, inputs);
}

}  // namespace caravan::kernels
