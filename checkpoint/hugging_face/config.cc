#include "checkpoint/hugging_face/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/struct.pb.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "common/json.h"

namespace caravan::checkpoint {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;
using planner::ModelShape;
using planner::RopeScaling;

constexpr double kLargestSize = 2147483648;

// With a point or an exponent also where it is whole: for transformers, 8 is no float.
std::string float_json(double value) {
  const std::string number = json_number(value);
  return number.find_first_of(".e") == std::string::npos ? number + ".0" : number;
}

std::string scaling_json(const RopeScaling& scaling) {
  return fmt::format(
      R"({{"rope_type": "llama3", "factor": {}, "low_freq_factor": {}, "high_freq_factor": {}, )"
      R"("original_max_position_embeddings": {}}})",
      float_json(scaling.factor), float_json(scaling.low_frequency_factor),
      float_json(scaling.high_frequency_factor), scaling.original_positions);
}

const char* type_in_torch(ElementType type) {
  switch (type) {
    case ElementType::BF16:
      return "bfloat16";
    case ElementType::F16:
      return "float16";
    case ElementType::F64:
      return "float64";
    default:
      return "float32";
  }
}

// Remembers the first field that does not hold what it should.
class Fields {
 public:
  Fields(const Struct& object, std::string prefix) : object_(object), prefix_(std::move(prefix)) {}

  const Value* find(const std::string& key) const {
    const auto found = object_.fields().find(key);
    if (found == object_.fields().end() || found->second.has_null_value()) return nullptr;
    return &found->second;
  }

  int64_t size(const char* key, std::optional<int64_t> absent = std::nullopt) {
    const Value* value = find(key);
    if (value == nullptr && absent) return *absent;
    const double number = value != nullptr && value->has_number_value() ? value->number_value() : 0;
    const bool is_size = number >= 1 && number < kLargestSize && number == std::floor(number);
    require(is_size, key, "must be a whole number from 1");
    return is_size ? static_cast<int64_t>(number) : 1;
  }

  // A number, a list of numbers, or nothing.
  std::vector<int64_t> tokens(const char* key) {
    std::vector<int64_t> tokens;
    const Value* value = find(key);
    if (value == nullptr) return tokens;
    const auto add = [&](const Value& one) {
      const double number = one.has_number_value() ? one.number_value() : -1;
      const bool is_token = number >= 0 && number < kLargestSize && number == std::floor(number);
      require(is_token, key, "must be a token's number, or a list of some");
      if (is_token) tokens.push_back(static_cast<int64_t>(number));
    };
    if (!value->has_list_value()) {
      add(*value);
    } else {
      for (const Value& one : value->list_value().values()) add(one);
    }
    return tokens;
  }

  double number(const char* key, std::optional<double> absent = std::nullopt) {
    const Value* value = find(key);
    if (value == nullptr && absent) return *absent;
    const double number = value != nullptr && value->has_number_value() ? value->number_value() : 0;
    require(number > 0 && std::isfinite(number), key, "must be a number above 0");
    return number;
  }

  bool flag(const char* key, bool absent) {
    const Value* value = find(key);
    if (value == nullptr) return absent;
    require(value->has_bool_value(), key, "must be true or false");
    return value->bool_value();
  }

  std::string text(const char* key, const std::string& absent) {
    const Value* value = find(key);
    if (value == nullptr) return absent;
    require(value->has_string_value(), key, "must be a text");
    return value->string_value();
  }

  void require(bool holds, const char* key, std::string_view what) {
    if (!holds && status_) status_ = bad_input(fmt::format("{}{}: {}", prefix_, key, what));
  }

  const Status& status() const { return status_; }

 private:
  const Struct& object_;
  const std::string prefix_;
  Status status_;
};

void read_tokens(Fields& fields, ModelShape& model) {
  if (const auto begin = fields.tokens("bos_token_id"); !begin.empty()) model.bos_token = begin.front();
  model.eos_tokens = fields.tokens("eos_token_id");
}

Status read_rope(Fields& fields, ModelShape& model) {
  const char* where = fields.find("rope_parameters") != nullptr ? "rope_parameters" : "rope_scaling";
  model.rope_theta = fields.number("rope_theta", 10000);
  const Value* given = fields.find(where);
  if (given == nullptr) return fields.status();
  if (!given->has_struct_value()) return bad_input(fmt::format("{}: must be an object", where));
  Fields rope(given->struct_value(), std::string(where) + ".");
  model.rope_theta = rope.number("rope_theta", model.rope_theta);
  const std::string type = rope.text("rope_type", rope.text("type", "default"));
  if (type == "default") return rope.status();
  rope.require(type == "llama3", "rope_type", fmt::format("'{}' is none of Llama 2 to 3.2", type));
  RopeScaling scaling;
  scaling.factor = rope.number("factor");
  scaling.low_frequency_factor = rope.number("low_freq_factor");
  scaling.high_frequency_factor = rope.number("high_freq_factor");
  scaling.original_positions = rope.size("original_max_position_embeddings");
  model.rope_scaling = scaling;
  return rope.status();
}

Status check_heads(const ModelShape& model, Fields& fields) {
  fields.require(model.heads % model.kv_heads == 0, "num_key_value_heads", "must divide num_attention_heads");
  fields.require(model.head_dim % 2 == 0, "head_dim", "must be even: rotary embeddings turn pairs");
  return fields.status();
}

// Without the fields `transformers` takes 1 and 2, whatever the tokenizer.
std::string tokens_json(const std::vector<int64_t>& tokens) {
  if (tokens.empty()) return "null";
  return tokens.size() == 1 ? fmt::format("{}", tokens.front())
                            : fmt::format("[{}]", fmt::join(tokens, ", "));
}

}  // namespace

std::string config_json(const ModelShape& model, ElementType type, int64_t sequence_length) {
  const std::string scaling = model.rope_scaling ? scaling_json(*model.rope_scaling) : "null";
  return fmt::format(R"({{
  "architectures": ["LlamaForCausalLM"],
  "attention_bias": false,
  "bos_token_id": {},
  "eos_token_id": {},
  "head_dim": {},
  "hidden_act": "silu",
  "hidden_size": {},
  "intermediate_size": {},
  "max_position_embeddings": {},
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": {},
  "num_hidden_layers": {},
  "num_key_value_heads": {},
  "rms_norm_eps": {},
  "rope_scaling": {},
  "rope_theta": {},
  "tie_word_embeddings": {},
  "torch_dtype": "{}",
  "use_cache": true,
  "vocab_size": {}
}}
)",
                     model.bos_token ? fmt::format("{}", *model.bos_token) : "null",
                     tokens_json(model.eos_tokens), model.head_dim, model.hidden, model.ffn,
                     std::max(model.positions.value_or(0), sequence_length), model.heads, model.layers,
                     model.kv_heads, float_json(model.norm_eps), scaling, float_json(model.rope_theta),
                     model.tied_embeddings, type_in_torch(type), model.vocab);
}

Result<ModelShape> parse_config(std::string_view text) {
  if (std::ssize(text) > kLongestConfig) return bad_input("too long for the configuration of a model");
  const auto object = from_json<Struct>(text);
  if (!object) return bad_input("no JSON object: " + object.error().message);

  Fields fields(*object, "");
  ModelShape model;
  model.name = "custom";
  fields.require(fields.text("model_type", "llama") == "llama", "model_type", "must be llama");
  fields.require(fields.text("hidden_act", "silu") == "silu", "hidden_act", "must be silu");
  fields.require(!fields.flag("attention_bias", false), "attention_bias", "must be false");
  fields.require(!fields.flag("mlp_bias", false), "mlp_bias", "must be false");
  model.hidden = fields.size("hidden_size");
  model.layers = fields.size("num_hidden_layers");
  model.heads = fields.size("num_attention_heads");
  model.kv_heads = fields.size("num_key_value_heads", model.heads);
  fields.require(fields.find("head_dim") != nullptr || model.hidden % model.heads == 0, "hidden_size",
                 "must be divisible by num_attention_heads when head_dim is absent");
  model.head_dim = fields.size("head_dim", std::max<int64_t>(1, model.hidden / model.heads));
  model.ffn = fields.size("intermediate_size");
  model.vocab = fields.size("vocab_size");
  model.tied_embeddings = fields.flag("tie_word_embeddings", false);
  model.norm_eps = fields.number("rms_norm_eps");
  model.positions = fields.size("max_position_embeddings", 2048);
  read_tokens(fields, model);
  if (Status read = read_rope(fields, model); !read) return tl::unexpected(read.error());
  if (Status right = check_heads(model, fields); !right) return tl::unexpected(right.error());
  return model;
}

Result<std::vector<int64_t>> parse_eos_tokens(std::string_view text) {
  if (std::ssize(text) > kLongestConfig) return bad_input("too long for the configuration of a model");
  const auto object = from_json<Struct>(text);
  if (!object) return bad_input("no JSON object: " + object.error().message);
  Fields fields(*object, "");
  std::vector<int64_t> tokens = fields.tokens("eos_token_id");
  if (!fields.status()) return tl::unexpected(fields.status().error());
  return tokens;
}

std::string difference(const ModelShape& given, const ModelShape& job, std::string_view where,
                       std::string_view other) {
  const auto sentence = [&](const char* name, const auto& there, const auto& here) {
    return fmt::format("{} is {} in {} and {} in {}", name, there, where, here, other);
  };
  const std::pair<const char*, std::pair<int64_t, int64_t>> sizes[] = {
      {"hiddenSize", {given.hidden, job.hidden}},  {"layers", {given.layers, job.layers}},
      {"heads", {given.heads, job.heads}},         {"kvHeads", {given.kv_heads, job.kv_heads}},
      {"headDim", {given.head_dim, job.head_dim}}, {"ffnSize", {given.ffn, job.ffn}},
      {"vocabSize", {given.vocab, job.vocab}}};
  for (const auto& [name, values] : sizes)
    if (values.first != values.second) return sentence(name, values.first, values.second);
  if (given.tied_embeddings != job.tied_embeddings)
    return sentence("tiedEmbeddings", given.tied_embeddings, job.tied_embeddings);
  if (given.rope_theta != job.rope_theta) return sentence("ropeTheta", given.rope_theta, job.rope_theta);
  if (given.rope_scaling != job.rope_scaling) {
    return sentence("ropeScaling", given.rope_scaling ? scaling_json(*given.rope_scaling) : "absent",
                    job.rope_scaling ? scaling_json(*job.rope_scaling) : "absent");
  }
  if (given.norm_eps != job.norm_eps) return sentence("normEps", given.norm_eps, job.norm_eps);
  return {};
}

}  // namespace caravan::checkpoint
