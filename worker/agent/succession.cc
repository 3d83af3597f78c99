#include "worker/agent/succession.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <spdlog/spdlog.h>

#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "common/host_port.h"

namespace caravan::agent {
namespace {

// With the thread that asks for it.
struct Answer {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::optional<std::vector<std::string>> addresses;
};

}  // namespace

std::vector<std::string> addresses_of(const std::string& name) {
  const std::string port = port_of(name);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host_of(name).c_str(), port.c_str(), &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    std::array<char, NI_MAXHOST> host{};
    if (getnameinfo(entry->ai_addr, entry->ai_addrlen, host.data(), host.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0)
      continue;
    const bool brackets = entry->ai_family == AF_INET6;
    addresses.push_back(
        fmt::format("{}{}{}:{}", brackets ? "[" : "", host.data(), brackets ? "]" : "", port));
  }
  return addresses;
}

Succession::Succession(Config config, Lookup lookup, std::function<void()> on_newer)
    : config_(std::move(config)),
      lookup_(std::move(lookup)),
      on_newer_(std::move(on_newer)),
      thread_([this](const std::stop_token& stop) { watch(stop); }) {}

void Succession::watch(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  while (!stop.stop_requested()) {
    for (const std::string& address : look_up(stop)) {
      if (stop.stop_requested() || !is_newer(address)) continue;
      spdlog::warn("the newer agent of node 0 is at {}", address);
      return on_newer_();
    }
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, config_.pause, [] { return false; });
  }
}

// None when this one ends first.
std::vector<std::string> Succession::look_up(const std::stop_token& stop) const {
  const auto answer = std::make_shared<Answer>();
  try {
    std::thread([answer, lookup = lookup_, name = config_.coordinator] {
      auto addresses = lookup(name);
      const std::scoped_lock lock(answer->mutex);
      answer->addresses = std::move(addresses);
      answer->changed.notify_all();
    }).detach();
  } catch (const std::system_error& no_thread) {
    spdlog::warn("no newer agent of node 0 is looked for: {}", no_thread.what());
    return {};
  }
  std::unique_lock lock(answer->mutex);
  answer->changed.wait(lock, stop, [&] { return answer->addresses.has_value(); });
  return answer->addresses.value_or(std::vector<std::string>());
}

// Also asks this process itself, which says no.
bool Succession::is_newer(const std::string& address) const {
  v1alpha1::AgentHello hello;
  hello.set_job_uid(config_.job_uid);
  hello.set_incarnation(config_.incarnation);
  hello.set_first_attempt(config_.first_attempt);
  hello.set_only_asks(true);
  Mailbox<LinkEvent> events;
  CoordinatorLink link({.where = address,
                        .identity = config_.identity,
                        .verified_name = config_.identity ? host_of(config_.coordinator) : ""},
                       events);
  link.connect(hello);
  pollfd answered{events.fd(), POLLIN, 0};
  poll(&answered, 1, static_cast<int>(config_.patience.count()));
  const std::vector<LinkEvent> answer = events.take();
  const auto* message = answer.empty() ? nullptr : std::get_if<LinkMessage>(&answer.front());
  return message != nullptr && message->message.has_superseded();
}

}  // namespace caravan::agent
