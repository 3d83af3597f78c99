// One coordinator's stream of the report service on a cluster.
//
// A stream reads nothing before it is admitted, and then no faster than its pace: who tells more is held up
// by HTTP/2's flow control, so nothing is lost and nobody else waits. Hence no BidiStream
// (common/bidi_stream.h), which reads from the start and without a pause. Whoever ends a stream first (its
// peer, a newer one of the same pod, one whose turn it is, the server) ends it for good. Only for .cc files:
// this header is heavy.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <string>

#include "caravan/v1alpha1/coordination.grpc.pb.h"
#include "operator/service/cluster_report_server.h"
#include "operator/service/report_places.h"

namespace caravan::controller {

// What streams share; outlives them.
struct StreamSurroundings {
  Clock& clock;
  ProgressBoard& board;
  ClusterReportServer::Observer& observer;
  ReportPlaces& places;
};

class PodReportStream final : public grpc::ServerBidiReactor<v1alpha1::JobReport, v1alpha1::ReportCommand>,
                              public std::enable_shared_from_this<PodReportStream> {
 public:
  // gRPC owns it until its call is over; whoever else holds it may only see that it has ended.
  static std::shared_ptr<PodReportStream> make(StreamSurroundings& around);

  void admit(Result<Reporter> reporter);
  void end(grpc::StatusCode code, const std::string& message);
  bool has_ended() const;

 private:
  bool take_place();
  explicit PodReportStream(StreamSurroundings& around);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { end(grpc::StatusCode::CANCELLED, ""); }
  void OnDone() override;

  // False: this ends the stream.
  bool take();
  void tell_to_stop();
  void write_what_it_owes();
  void read_at_its_pace();
  void resume();

  StreamSurroundings& around_;
  const Clock::TimePoint began_;
  std::shared_ptr<PodReportStream> self_;  // until OnDone
  mutable std::mutex mutex_;
  bool ended_ = false;
  bool pausing_ = false;  // the alarm is set; it calls resume() once, also when it is cancelled
  grpc::Status last_;
  grpc::Alarm alarm_;
  Reporter reporter_;
  v1alpha1::JobReport report_;
  v1alpha1::ReportCommand command_;
  bool writes_ = false;  // that command is on its way
  bool owes_stop_ = false;
  std::optional<std::string> owes_save_;  // a request
  bool owes_acknowledgement_ = false;
  bool acknowledged_ = false;  // or owes it
  bool was_known_ = false;
  bool can_be_stopped_ = false;  // by the board
};

}  // namespace caravan::controller
