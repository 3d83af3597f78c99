// Sends prepared requests and does nothing else: what the API server takes at most.
//
// Usage: operator_bare_client KUBECONFIG REQUESTS AT_ONCE
//
// Each line of REQUESTS is the list of one job's requests, which are sent one after another, AT_ONCE jobs at
// a time. Prints "ready", begins with the next line of its input, prints "done" and ends with its input, so
// that whoever measures can read its processor time.
#include <fmt/format.h>

#include <atomic>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <iostream>
#include <thread>
#include <vector>

#include "bench/operator/connected_client.h"

namespace caravan::bench {
namespace {

using Requests = std::vector<kube::HttpRequest>;

std::vector<Requests> read_jobs(const std::string& path) {
  std::vector<Requests> jobs;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    Requests& requests = jobs.emplace_back();
    const kube::Json list = or_end(kube::parse_json(line, path));
    for (const kube::Json& request : list.as_array()) {
      requests.push_back({.method = kube::text_at(request, {"method"}),
                          .target = fmt::format("/{}", kube::text_at(request, {"path"})),
                          .headers = {{"Content-Type", kube::text_at(request, {"contentType"})},
                                      {"Accept", "application/json"}},
                          .body = kube::text_at(request, {"body"})});
    }
  }
  return jobs;
}

void send(kube::Transport& transport, const Requests& requests) {
  for (const kube::HttpRequest& request : requests) {
    const kube::HttpResponse answer = or_end(transport.call({}, request));
    if (answer.head.status / 100 == 2) continue;
    fmt::print(stderr, "{} {}: {}\n", request.method, request.target, answer.body);
    std::exit(EXIT_FAILURE);
  }
}

void send_all(kube::Transport& transport, const std::vector<Requests>& jobs, int at_once) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(at_once));
  for (int i = 0; i < at_once; ++i) {
    threads.emplace_back([&] {
      for (std::size_t mine = next++; mine < jobs.size(); mine = next++) send(transport, jobs[mine]);
    });
  }
}

int run(const std::string& kubeconfig, const std::string& requests, int at_once) {
  ConnectedClient connected(kubeconfig);
  const std::vector<Requests> jobs = read_jobs(requests);
  std::string line;
  std::cout << "ready" << std::endl;
  std::getline(std::cin, line);
  send_all(connected.transport, jobs, at_once);
  std::cout << "done" << std::endl;
  std::getline(std::cin, line);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace caravan::bench

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: {} KUBECONFIG REQUESTS AT_ONCE\n", argv[0]);
    return EXIT_FAILURE;
  }
  return caravan::bench::run(argv[1], argv[2], std::atoi(argv[3]));
}
