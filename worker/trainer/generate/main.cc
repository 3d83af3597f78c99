// caravan-generate: continues a text of tokens with a model. Tokens in, tokens out; `caravan generate` makes
// text of them.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/folder/weights_folder.h"
#include "common/arguments/number_between.h"
#include "common/arguments/parse_error.h"
#include "common/readable_bytes.h"
#include "common/version.h"
#include "worker/trainer/checkpoint/rank_state.h"
#include "worker/trainer/generate/decoder.h"
#include "worker/trainer/generate/prompt.h"
#include "worker/trainer/generate/sampler.h"
#include "worker/trainer/libtorch.h"

namespace caravan::trainer {
namespace {

int64_t machine_memory() {
  return int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
}

struct Options {
  std::string folder;
  int prompt_fd = 0;
  int64_t most_tokens = 200;
  double temperature = 0;
  uint64_t seed = 1;
  std::vector<int64_t> end_of_text;
  int threads = 1;
  int64_t memory_bytes = machine_memory();
};

// Halves have no kernels here.
at::ScalarType storage_of(checkpoint::ElementType type) {
  switch (type) {
    case checkpoint::ElementType::BF16:
      return at::kBFloat16;
    case checkpoint::ElementType::F64:
      return at::kDouble;
    default:
      return at::kFloat;
  }
}

Result<std::string> read_all(int fd) {
  std::string text;
  char chunk[4096];
  while (true) {
    const ssize_t count = ::read(fd, chunk, sizeof chunk);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure(fmt::format("cannot read the prompt: {}", std::strerror(errno)));
    if (count == 0) return text;
    text.append(chunk, static_cast<std::size_t>(count));
  }
}

Result<std::vector<int64_t>> read_prompt(int fd, int64_t vocabulary) {
  return read_all(fd).and_then([&](const std::string& text) { return tokens_of(text, vocabulary); });
}

// Positions are angles that the model has learnt; behind the last it has learnt nothing.
Result<int64_t> tokens_to_make(const Options& options, int64_t prompt, const planner::ModelShape& model) {
  const int64_t room = model.positions.value_or(prompt + options.most_tokens) - prompt;
  if (room < 1) {
    return bad_input(
        fmt::format("the prompt: has {} tokens, and the model was made for {}; give a shorter one", prompt,
                    *model.positions));
  }
  return std::min(room, options.most_tokens);
}

Result<std::unique_ptr<Decoder>> load(checkpoint::WeightsFolder& from, int64_t most_tokens,
                                      int64_t memory_bytes) {
  if (Status right = from.check_all(); !right) return tl::unexpected(right.error());
  const planner::ModelShape& model = from.model();
  const auto table = from.find("model.embed_tokens.weight");
  if (!table) return tl::unexpected(table.error());
  const at::ScalarType storage = storage_of((*table)->type);
  const StagePlacement placement = whole_model(model);
  ParameterLayout layout = lay_out_parameters(model, placement, /*padding=*/1);
  const int64_t needed = decoder_bytes(model, layout, storage, most_tokens);
  if (needed > memory_bytes) {
    return tl::unexpected(Error{
        fmt::format("the model takes {} of memory for {} tokens, and there are {}; take a machine with more",
                    readable_bytes(needed), most_tokens, readable_bytes(memory_bytes)),
        ExitCode::kDoesNotFit});
  }
  ParameterStore parameters = allocate_values(std::move(layout), storage);
  if (Status read = read_values(from, parameters, placement); !read) return tl::unexpected(read.error());
  return std::make_unique<Decoder>(model, std::move(parameters), most_tokens);
}

Status write_token(int64_t token) {
  if (std::printf("%lld\n", static_cast<long long>(token)) > 0 && std::fflush(stdout) == 0) return {};
  return failure(fmt::format("cannot write tokens: {}", std::strerror(errno)));
}

Result<ExitCode> generate(const Options& options) {
  auto from = checkpoint::WeightsFolder::open(options.folder);
  if (!from) return tl::unexpected(from.error());
  const auto prompt = read_prompt(options.prompt_fd, from->model().vocab);
  if (!prompt) return tl::unexpected(prompt.error());
  const Result<int64_t> most_tokens = tokens_to_make(options, std::ssize(*prompt), from->model());
  if (!most_tokens) return tl::unexpected(most_tokens.error());
  const auto decoder = load(*from, std::ssize(*prompt) + *most_tokens, options.memory_bytes);
  if (!decoder) return tl::unexpected(decoder.error());
  if (*most_tokens < options.most_tokens) {
    fmt::print(stderr,
               "the text ends after {} more tokens at most: the model was made for {}, with the prompt\n",
               *most_tokens, *from->model().positions);
  }

  Sampler sampler(options.temperature, options.seed);
  at::Tensor logits_V = (*decoder)->add(*prompt).to(at::kFloat);
  for (int64_t made = 1; made <= *most_tokens; ++made) {
    const auto token =
        sampler.choose({logits_V.data_ptr<float>(), static_cast<std::size_t>(logits_V.numel())});
    if (!token) return tl::unexpected(token.error());
    if (std::ranges::find(options.end_of_text, *token) != options.end_of_text.end()) break;
    if (Status written = write_token(*token); !written) return tl::unexpected(written.error());
    if (made < *most_tokens) logits_V = (*decoder)->add(std::span(&*token, 1)).to(at::kFloat);
  }
  return ExitCode::kDone;
}

// Exceptions of LibTorch become errors here.
Result<ExitCode> guarded(const Options& options) {
  try {
    make_deterministic(options.threads);
    return generate(options);
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) return failure(words_of(error));
    return tl::unexpected(
        Error{"the system has no memory left for this model; end other programs, or take a machine with more",
              ExitCode::kDoesNotFit});
  }
}

}  // namespace
}  // namespace caravan::trainer

int main(int argc, char** argv) {
  using caravan::trainer::end_quickly;
  CLI::App app(
      "Continues a text of tokens: reads the prompt's numbers from standard input and writes a number a "
      "line.",
      "caravan-generate");
  caravan::trainer::Options options;
  app.add_option("FOLDER", options.folder, "config.json and safetensors")->required();
  app.add_option("--prompt-fd", options.prompt_fd, "Read the prompt from this descriptor");
  app.add_option("--max-tokens", options.most_tokens, "Tokens to make")->check(CLI::Range(1, 1'000'000));
  app.add_option("--temperature", options.temperature, "0: always the likeliest")
      ->check(caravan::NumberBetween(0, 1000));
  app.add_option("--seed", options.seed, "Of what is drawn with a temperature");
  app.add_option("--end-of-text", options.end_of_text,
                 "Token that ends the text, once for each; it is not written")
      ->allow_extra_args(false);
  app.add_option("--memory-bytes", options.memory_bytes, "That this process may take; default: the machine's")
      ->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads, "Of tensor operations")->check(CLI::Range(1, 1024));
  app.set_version_flag("--version", "caravan-generate " + std::string(caravan::version()));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    end_quickly(caravan::exit_on_parse_error(app, error));
  }
  const auto end = caravan::trainer::guarded(options);
  if (end) end_quickly(static_cast<int>(*end));
  fmt::print(stderr, "{}\n", end.error().message);
  end_quickly(static_cast<int>(end.error().code));
}
