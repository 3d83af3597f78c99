#include "kube/config/config_credentials.h"

namespace caravan::kube {
namespace {

constexpr std::chrono::seconds kPluginTakesAtMost{60};
constexpr std::chrono::seconds kRenewedBeforeItExpires{10};

tl::unexpected<ApiError> unusable(const Error& error) {
  return api_failure(ErrorKind::kRefusedHere, error.message);
}

}  // namespace

ConfigCredentials::PemSource::PemSource(const Pem& pem, Clock& clock)
    : text_(pem.text), file_(pem.file.empty() ? nullptr : std::make_unique<RereadFile>(pem.file, clock)) {}

Result<std::string> ConfigCredentials::PemSource::get() {
  if (file_ == nullptr) return text_;
  return file_->get();
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

ApiResult<std::string> ConfigCredentials::token() {
  auto token = token_.get();
  if (!token) return unusable(token.error());
  if (!token->empty() || !config_.exec) return std::move(*token);
  auto credential = exec_credential();
  if (!credential) return unusable(credential.error());
  return std::move(credential->token);
}

ApiResult<TlsMaterial> ConfigCredentials::tls() {
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
  auto credential = exec_credential();
  if (!credential) return unusable(credential.error());
  material.certificate_pem = std::move(credential->certificate_pem);
  material.key_pem = std::move(credential->key_pem);
  return material;
}

void ConfigCredentials::forget() {
  for (PemSource* source : {&authority_, &certificate_, &key_, &token_}) source->forget();
  const std::lock_guard guard(exec_mutex_);
  exec_.reset();
}

Result<ExecCredential> ConfigCredentials::exec_credential() {
  const std::lock_guard guard(exec_mutex_);
  const bool expired =
      exec_ && exec_->expires && clock_.wall_now() >= *exec_->expires - kRenewedBeforeItExpires;
  if (exec_ && !expired) return *exec_;
  const auto authority = authority_.get();
  if (!authority) return tl::unexpected(authority.error());
  auto credential = run_exec_plugin({.deadline = clock_.now() + kPluginTakesAtMost}, clock_, *config_.exec,
                                    config_, *authority);
  if (credential) exec_ = *credential;
  return credential;
}

}  // namespace caravan::kube
