#include "kube/config/config_credentials.h"

#include <fmt/format.h>

#include <algorithm>

namespace caravan::kube {
namespace {

constexpr std::chrono::seconds kPluginTakesAtMost{60};
constexpr std::chrono::seconds kRenewedBeforeItExpires{10};
constexpr std::chrono::seconds kFirstRest{1};
constexpr std::chrono::seconds kLongestRest{30};

tl::unexpected<ApiError> unusable(const Error& error) {
  return api_failure(ErrorKind::kNoCredentials, error.message);
}

// A line end would end the header that the token stands in.
Result<std::string> usable_token(const std::string& text, std::string_view source) {
  std::string token = trimmed(text);
  const bool is_one_line = std::ranges::none_of(token, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (is_one_line) return token;
  return failure(fmt::format("{} has a control character, such as a line end; a token is one line", source));
}

}  // namespace

ConfigCredentials::PemSource::PemSource(const Pem& pem, Clock& clock)
    : text_(pem.text), file_(pem.file.empty() ? nullptr : std::make_unique<RereadFile>(pem.file, clock)) {}

Result<std::string> ConfigCredentials::PemSource::get() {
  if (file_ == nullptr) return text_;
  auto content = file_->get();
  if (!content && !text_.empty()) return text_;
  return content;
}

void ConfigCredentials::PemSource::forget() {
  if (file_ != nullptr) file_->forget();
}

ConfigCredentials::ConfigCredentials(ClientConfig config, Clock& clock)
    : config_(std::move(config)),
      clock_(clock),
      authority_(config_.authority, clock),
      certificate_(config_.certificate, clock),
      key_(config_.key, clock),
      token_({.text = config_.token, .file = config_.token_file}, clock) {}

ApiResult<std::string> ConfigCredentials::token(const CallContext& context) {
  const auto token = token_.get();
  if (!token) return unusable(token.error());
  if (!token->empty() || !config_.exec) {
    auto usable = usable_token(
        *token, config_.token_file.empty() ? "'token' of the kubeconfig's user" : config_.token_file);
    if (!usable) return unusable(usable.error());
    return *std::move(usable);
  }
  return exec_credential(context).map([](const ExecCredential& credential) { return credential.token; });
}

ApiResult<TlsMaterial> ConfigCredentials::tls(const CallContext& context) {
  TlsMaterial material{.verify_peer = !config_.insecure_skip_tls_verify};
  auto authority = authority_.get();
  if (!authority) return unusable(authority.error());
  material.authority_pem = std::move(*authority);
  auto certificate = certificate_.get();
  if (!certificate) return unusable(certificate.error());
  auto key = key_.get();
  if (!key) return unusable(key.error());
  material.certificate_pem = std::move(*certificate);
  material.key_pem = std::move(*key);
  if (!config_.exec || !material.certificate_pem.empty()) return material;
  auto credential = exec_credential(context);
  if (!credential) return tl::unexpected(std::move(credential.error()));
  material.certificate_pem = std::move(credential->certificate_pem);
  material.key_pem = std::move(credential->key_pem);
  return material;
}

void ConfigCredentials::forget_files() {
  for (PemSource* source : {&authority_, &certificate_, &key_, &token_}) source->forget();
}

void ConfigCredentials::forget(const std::string& token) {
  forget_files();
  const std::lock_guard guard(exec_mutex_);
  if (exec_ && (exec_->token.empty() || exec_->token == token)) exec_.reset();
}

ApiResult<ExecCredential> ConfigCredentials::exec_credential(const CallContext& context) {
  std::unique_lock lock(exec_mutex_);
  const auto is_free = [this] { return !plugin_runs_; };
  if (!clock_.wait_until(lock, plugin_ended_, context.deadline, context.stop, is_free))
    return no_credential(context,
                         fmt::format("the credential plugin '{}' still runs", config_.exec->command));
  const bool expired =
      exec_ && exec_->expires && clock_.wall_now() >= *exec_->expires - kRenewedBeforeItExpires;
  if (exec_ && !expired) return *exec_;
  if (failure_ && clock_.now() < failure_->until) return no_credential(context, failure_->message);
  plugin_runs_ = true;
  lock.unlock();
  auto credential = run_plugin(context);
  lock.lock();
  plugin_runs_ = false;
  plugin_ended_.notify_all();
  if (!credential) {
    auto failed = no_credential(context, std::move(credential.error().message));
    // What ended with its call says nothing of the next one.
    if (failed.value().kind == ErrorKind::kNoCredentials) keep_failure(failed.value().message);
    return failed;
  }
  failure_.reset();
  exec_ = *credential;
  return std::move(*credential);
}

Result<ExecCredential> ConfigCredentials::run_plugin(const CallContext& context) {
  const auto authority = authority_.get();
  if (!authority) return tl::unexpected(authority.error());
  auto credential = run_exec_plugin(context.until(clock_.now() + kPluginTakesAtMost), clock_, *config_.exec,
                                    config_, *authority);
  if (!credential) return credential;
  auto token = usable_token(credential->token,
                            fmt::format("the token of the credential plugin '{}'", config_.exec->command));
  if (!token) return tl::unexpected(std::move(token.error()));
  credential->token = *std::move(token);
  if (credential->certificate_pem.empty()) return credential;
  const auto usable =
      make_tls_context({.certificate_pem = credential->certificate_pem, .key_pem = credential->key_pem});
  if (usable) return credential;
  return failure(
      fmt::format("of the credential plugin '{}', {}", config_.exec->command, usable.error().message));
}

void ConfigCredentials::keep_failure(const std::string& message) {
  const auto rest = failure_ ? std::min(2 * failure_->rest, kLongestRest) : kFirstRest;
  failure_ = Failure{.message = message, .rest = rest, .until = clock_.now() + rest};
}

tl::unexpected<ApiError> ConfigCredentials::no_credential(const CallContext& context,
                                                          std::string message) const {
  ErrorKind kind = ErrorKind::kNoCredentials;
  if (clock_.now() >= context.deadline) kind = ErrorKind::kTimeout;
  if (context.stop.stop_requested()) kind = ErrorKind::kStopped;
  return api_failure(kind, std::move(message));
}

}  // namespace caravan::kube
