#include "cli/run/preflight.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "common/unique_fd.h"
#include "data/token_dataset.h"

namespace caravan::cli {
namespace {

constexpr int64_t kTokensCompared = int64_t{1} << 28;
constexpr int64_t kTokensAtOnce = int64_t{1} << 16;

tl::unexpected<Error> in_field(const std::string& field, const Error& error) {
  return tl::unexpected(Error{fmt::format("{}: {}", field, error.message), error.code});
}

Status check_tokens(const data::TokenDataset& tokens, int64_t vocabulary) {
  const int64_t end = std::min(tokens.tokens(), kTokensCompared);
  std::vector<int64_t> chunk;
  for (int64_t begin = 0; begin < end; begin += kTokensAtOnce) {
    chunk.resize(static_cast<std::size_t>(std::min(kTokensAtOnce, end - begin)));
    if (Status read = tokens.read(begin, chunk, vocabulary); !read) return read;
  }
  return {};
}

Result<data::TokenDataset> check_token_file(const std::string& field, const std::string& path,
                                            int64_t sequence_length, int64_t vocabulary) {
  Result<data::TokenDataset> tokens = data::TokenDataset::open(path);
  if (!tokens) return bad_input(fmt::format("{}: {}", field, tokens.error().message));
  const int64_t sample = sequence_length + 1;  // the last token's target included
  if (tokens->tokens() < sample) {
    return bad_input(
        fmt::format("{}: '{}' has {} tokens; one sample of spec.training.sequenceLength {} needs {}", field,
                    path, tokens->tokens(), sequence_length, sample));
  }
  if (Status valid = check_tokens(*tokens, vocabulary); !valid) return in_field(field, valid.error());
  return tokens;
}

Status check_port(int port) {
  const UniqueFd probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int reuse = 1;
  setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return {};
  return bad_input(fmt::format("--metrics-port: port {} of 127.0.0.1: {}; choose another one", port,
                               std::strerror(errno)));
}

}  // namespace

Status check_token_files(const v1alpha1::JobSpec& spec, int64_t vocabulary) {
  const int64_t sequence_length = spec.training().sequence_length();
  const auto training = check_token_file("spec.data.path", spec.data().path(), sequence_length, vocabulary);
  if (!training) return tl::unexpected(training.error());
  if (spec.data().validation_path().empty()) return {};
  const std::string field = "spec.data.validationPath";
  const auto validation = check_token_file(field, spec.data().validation_path(), sequence_length, vocabulary);
  if (!validation) return tl::unexpected(validation.error());
  const Status held_out = data::check_held_out(*validation, *training);
  return held_out ? held_out : in_field(field, held_out.error());
}

Status check_metrics_ports(int first_port, int nodes) {
  constexpr int kHighestPort = 65535;
  if (first_port + nodes - 1 > kHighestPort) {
    return bad_input(
        fmt::format("--metrics-port: {} leaves no room for the ports of {} nodes", first_port, nodes));
  }
  for (int port = first_port; port < first_port + nodes; ++port) {
    if (Status free = check_port(port); !free) return free;
  }
  return {};
}

}  // namespace caravan::cli
