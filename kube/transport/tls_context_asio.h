// What TlsContext is; for the transport's own files.
#pragma once

#include <boost/asio/ssl/context.hpp>

namespace caravan::kube {

class TlsContext {
 public:
  TlsContext() : context(boost::asio::ssl::context::tls_client) {}

  boost::asio::ssl::context context;
};

}  // namespace caravan::kube
