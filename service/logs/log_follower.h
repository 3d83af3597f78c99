// Reads what a node of a job prints, pod after pod, as the caller: each byte once, in order.
//
// A stream of the API server that breaks, or has lasted so long that the caller's right to it is asked for
// anew, is opened again where it was. Following goes on while the API server or a machine cannot answer; it
// ends where a right is missing, where what comes next is gone (OUT_OF_RANGE), and when the job has ended and
// all is read.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "service/jobs/job_feed.h"
#include "service/logs/log_cursor.h"
#include "service/methods/caller_client.h"

namespace caravan::service {

struct LogWish {
  kube::ObjectKey job = {};
  std::string job_uid = {};
  int node = 0;
  std::optional<int> rank = {};
  bool follow = false;
  int since_seconds = 0;                 // 0: all
  std::optional<int> tail_lines = {};    // the last of the node's, or of the rank's where one is named
  std::optional<LogCursor> cursor = {};  // then the two above count for nothing
};

class LogFollower {
 public:
  struct Paces {
    std::chrono::milliseconds first_wait{1'000};  // doubled as long as nothing comes
    std::chrono::milliseconds longest_wait{10'000};
    std::chrono::milliseconds longest_stream{300'000};
    std::chrono::milliseconds longest_silence{30'000};  // of a log that is not followed
  };
  // text: may be empty where only the cursor is newer. False: nobody wants more.
  using Put = std::function<bool(std::string text, const LogCursor& cursor)>;

  // job_feed and clock outlive it.
  LogFollower(CallerClient client, const JobFeed& jobs, Clock& clock, const Paces& paces, LogWish wish,
              Put put);

  Answer<void> run(const std::stop_token& stop);

 private:
  struct Pod {
    std::string name = {};
    std::string uid = {};
    int attempt = 1;
    bool has_ended = false;
    bool is_pending = false;  // its container has not run
  };
  using Pods = std::vector<Pod>;  // by attempt
  struct Look {
    bool job_ended = false;
    Pods pods = {};
  };
  enum class Next { kOver, kAtOnce, kLater };

  Answer<Look> look(const std::stop_token& stop);
  Answer<Pods> list_pods(const std::stop_token& stop);
  Answer<Next> go_on(const Look& seen, const std::stop_token& stop);
  // Null: it is not there.
  const Pod* pod_to_read(const Pods& pods) const;
  Answer<Next> without_pod(const Look& seen) const;
  Answer<Next> without_its_pod();
  void begin(const Pod& pod);
  Answer<Next> read_pod(const Pod& pod, const Look& seen, const std::stop_token& stop);
  // Both: whether it has ended; false: it has lasted long enough.
  Answer<bool> read_log(const Pod& pod, bool follows, const std::stop_token& stop);
  using Take = std::function<Answer<void>(std::string_view chunk)>;
  Answer<bool> read_stream(const Pod& pod, const kube::Query& query, const std::stop_token& stop,
                           const Take& take);
  Answer<std::optional<controller::LogPlace>> place_of_last_lines(const Pod& pod,
                                                                  const std::stop_token& stop);
  Answer<void> scan(std::string_view chunk);
  Answer<Next> end_of_pod();
  kube::Query query(bool follows, const std::optional<controller::LogPlace>& place) const;
  Answer<void> hand_over(std::string text);
  Fault fault_of(const controller::LogFlaw& flaw) const;
  bool wait(const std::stop_token& stop);

  CallerClient client_;
  const JobFeed& jobs_;
  Clock& clock_;
  const Paces paces_;
  const LogWish wish_;
  const Put put_;
  const std::string since_;  // a time; empty: from the beginning
  std::optional<LogCursor> at_;
  std::optional<controller::LogScanner> scanner_;  // of the pod
  bool is_first_pod_;
  bool seeks_last_lines_;
  bool is_pending_ = false;    // its pod, when it was seen last
  bool stream_ended_ = false;  // of a pod that is followed, as it does when the container ends
  int fruitless_rounds_ = 0;
};

}  // namespace caravan::service
