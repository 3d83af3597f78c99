#include "kube/transport/tls_context.h"

#include <fmt/format.h>

#include <boost/asio/buffer.hpp>
#include <boost/system/system_error.hpp>

#include "kube/transport/tls_context_asio.h"

namespace caravan::kube {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;

// Throws boost::system::system_error; `part` names what is being read.
void load(ssl::context& context, const TlsMaterial& material, std::string_view& part) {
  part = "TLS options";
  context.set_options(ssl::context::default_workarounds | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  context.set_verify_mode(material.verify_peer ? ssl::verify_peer : ssl::verify_none);
  part = "certificate authority";
  if (material.authority_pem.empty()) {
    context.set_default_verify_paths();
  } else {
    context.add_certificate_authority(asio::buffer(material.authority_pem));
  }
  // As kubectl does, any certificate of the bundle is taken for an anchor, one that another has signed, too.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context.native_handle()), X509_V_FLAG_PARTIAL_CHAIN);
  if (material.certificate_pem.empty()) return;
  part = "client certificate";
  context.use_certificate_chain(asio::buffer(material.certificate_pem));
  part = "client key";
  context.use_private_key(asio::buffer(material.key_pem), ssl::context::pem);
}

}  // namespace

ApiResult<std::shared_ptr<TlsContext>> make_tls_context(const TlsMaterial& material) {
  auto made = std::make_shared<TlsContext>();
  std::string_view part;
  try {
    load(made->context, material, part);
  } catch (const boost::system::system_error& error) {
    return api_failure(ErrorKind::kNoCredentials,
                       fmt::format("the {} is not usable: {}", part, error.code().message()));
  }
  return made;
}

}  // namespace caravan::kube
