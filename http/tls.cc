#include "http/tls.h"

#include <fmt/format.h>
#include <openssl/ssl.h>

#include <boost/asio/buffer.hpp>
#include <boost/system/system_error.hpp>
#include <string_view>

#include "http/tls_context.h"

namespace caravan::http {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;

// Throws boost::system::system_error; `part` names what is being read.
void load(ssl::context& context, const TlsMaterial& material, std::string_view& part) {
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_3_VERSION);
  SSL_CTX_set_num_tickets(context.native_handle(), 0);
  SSL_CTX_set_session_cache_mode(context.native_handle(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context.native_handle(), SSL_MODE_RELEASE_BUFFERS);  // idle connections hold little
  part = "certificate";
  context.use_certificate_chain(asio::buffer(material.certificate_pem));
  part = "key";
  context.use_private_key(asio::buffer(material.key_pem), ssl::context::pem);
  if (material.client_ca_pem.empty()) return;
  part = "authority of clients";
  context.add_certificate_authority(asio::buffer(material.client_ca_pem));
  context.set_verify_mode(ssl::verify_peer);
}

}  // namespace

Result<std::shared_ptr<TlsContext>> make_tls_context(const TlsMaterial& material) {
  auto made = std::make_shared<TlsContext>();
  std::string_view part;
  try {
    load(made->context, material, part);
  } catch (const boost::system::system_error& error) {
    return bad_input(fmt::format("the {} is not usable: {}", part, error.code().message()));
  }
  return made;
}

}  // namespace caravan::http
