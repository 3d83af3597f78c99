#include "planner/memory/terms_message.h"

namespace caravan::planner {

v1alpha1::MemoryTerms terms_message(const MemoryTerms& terms) {
  v1alpha1::MemoryTerms message;
  message.set_parameters(terms.parameters);
  message.set_gradients(terms.gradients);
  message.set_optimizer(terms.optimizer);
  message.set_activations(terms.activations);
  message.set_logits(terms.logits);
  message.set_workspace(terms.workspace);
  message.set_communication(terms.communication);
  message.set_overhead(terms.overhead);
  message.set_snapshot(terms.snapshot);
  return message;
}

MemoryTerms terms_value(const v1alpha1::MemoryTerms& message) {
  return {.parameters = message.parameters(),
          .gradients = message.gradients(),
          .optimizer = message.optimizer(),
          .activations = message.activations(),
          .logits = message.logits(),
          .workspace = message.workspace(),
          .communication = message.communication(),
          .overhead = message.overhead(),
          .snapshot = message.snapshot()};
}

}  // namespace caravan::planner
