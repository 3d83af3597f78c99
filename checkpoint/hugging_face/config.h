// Hugging Face's config.json of a Llama model, to a model's shape and back.
//
// Writes what `transformers` loads: LlamaForCausalLM, with rope_theta and rope_scaling as all its versions
// read them. Reads Llama 2 to 3.2, also with rope_parameters in place of these two, as version 5 writes
// them; what would make another model of it (biases, another activation, another scaling) is refused. Errors
// are bad input and name the field; the caller names the file. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/safetensors/element_type.h"
#include "common/result.h"
#include "planner/model/shape.h"

namespace caravan::checkpoint {

// That a model's folder may have.
inline constexpr int64_t kLongestConfig = 1 << 20;

// sequence_length: the longest that the model was trained with. It is made for that many positions at least,
// whatever it was published for.
std::string config_json(const planner::ModelShape& model, ElementType type, int64_t sequence_length);

// Its name is "custom".
Result<planner::ModelShape> parse_config(std::string_view json);

// In one sentence, the first thing in which the shapes differ; empty when both make the same model. where:
// and other: what the shapes are of, for the sentence.
std::string difference(const planner::ModelShape& given, const planner::ModelShape& job,
                       std::string_view where = "the checkpoint", std::string_view other = "the job");

// Tokens that end a text, by generation_config.json; empty where it names none.
Result<std::vector<int64_t>> parse_eos_tokens(std::string_view json);

}  // namespace caravan::checkpoint
