// For tests: the text of a small job without mistakes, to which fields of spec may be added at its end.
#pragma once

#include <string>

namespace caravan::test {

inline std::string job_text(const std::string& resources = "{devices: 4}") {
  return R"(apiVersion: training.caravan.dev/v1alpha1
kind: LlamaTrainingJob
metadata: {name: demo}
spec:
  model: {preset: llama-tiny}
  data: {path: tokens.bin}
  training: {steps: 100, sequenceLength: 128, globalBatchSequences: 8}
  resources: )" +
         resources + "\n";
}

}  // namespace caravan::test
