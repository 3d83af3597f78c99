// What TlsContext is; for this room's own files.
#pragma once

#include <boost/asio/ssl/context.hpp>

namespace caravan::http {

class TlsContext {
 public:
  TlsContext() : context(boost::asio::ssl::context::tls_server) {}

  boost::asio::ssl::context context;
};

}  // namespace caravan::http
