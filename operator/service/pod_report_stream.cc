#include "operator/service/pod_report_stream.h"

#include <fmt/format.h>

#include <utility>

#include "common/rpc_status.h"

namespace caravan::controller {

using grpc::StatusCode;

std::shared_ptr<PodReportStream> PodReportStream::make(StreamSurroundings& around) {
  std::shared_ptr<PodReportStream> stream(new PodReportStream(around));
  stream->self_ = stream;
  return stream;
}

PodReportStream::PodReportStream(StreamSurroundings& around) : around_(around), began_(around.clock.now()) {}

void PodReportStream::admit(Result<Reporter> reporter) {
  if (!reporter) {
    around_.observer.on_warning("a reporter was refused: " + reporter.error().message);
    return end(StatusCode::UNAUTHENTICATED, reporter.error().message);
  }
  {
    const std::scoped_lock lock(mutex_);
    if (ended_) return;
    reporter_ = std::move(*reporter);
  }
  if (!take_place()) return end(StatusCode::RESOURCE_EXHAUSTED, "too many coordinators report");
  if (has_ended()) return around_.places.leave(reporter_.pod_uid, *this, around_.clock.now());
  around_.observer.on_admitted(reporter_);
  read_at_its_pace();
}

bool PodReportStream::take_place() {
  const auto place = around_.places.admit(reporter_.job.name_space, reporter_.pod_uid, shared_from_this(),
                                          around_.clock.now());
  if (place.former) place.former->end(StatusCode::ABORTED, "a newer stream of this pod takes its place");
  if (place.crowded_out)
    place.crowded_out->end(StatusCode::RESOURCE_EXHAUSTED, "it is the turn of another coordinator");
  return place.admitted;
}

// Whoever is first. What is under way ends with the call.
void PodReportStream::end(StatusCode code, const std::string& message) {
  const auto self = shared_from_this();
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(ended_, true)) return;
    last_ = grpc::Status(code, message);
    if (pausing_) return alarm_.Cancel();  // resume() follows
  }
  Finish(last_);
}

bool PodReportStream::has_ended() const {
  const std::scoped_lock lock(mutex_);
  return ended_;
}

void PodReportStream::OnReadDone(bool ok) {
  if (!ok) return end(StatusCode::OK, "");
  if (take()) read_at_its_pace();
}

bool PodReportStream::take() {
  std::string why;
  const auto answer = around_.board.take(reporter_, report_, why);
  if (answer == ProgressBoard::Answer::kImpossible) around_.observer.on_refused(reporter_, why);
  if (answer == ProgressBoard::Answer::kUnknownJob && !was_known_) {
    // The coordinator comes again and tells all that it told.
    end(StatusCode::NOT_FOUND, fmt::format("job {} is gone, or not known yet", to_string(reporter_.job)));
    return false;
  }
  was_known_ = true;  // one that is gone since never comes back: let its pod have its last words
  if (answer == ProgressBoard::Answer::kTaken && !std::exchange(can_be_stopped_, true)) {
    around_.board.set_way_to_stop(reporter_.job_uid, [stream = weak_from_this()] {
      if (const auto open = stream.lock()) open->tell_to_stop();
    });
  }
  const bool ends = report_.has_result() && answer != ProgressBoard::Answer::kImpossible;
  auto wish = around_.board.take_checkpoint_wish(reporter_.job_uid);
  const std::scoped_lock lock(mutex_);
  if (wish) owes_save_ = std::move(wish);
  if (ends && !std::exchange(acknowledged_, true)) owes_acknowledgement_ = true;
  write_what_it_owes();
  return true;
}

void PodReportStream::tell_to_stop() {
  const std::scoped_lock lock(mutex_);
  owes_stop_ = true;
  write_what_it_owes();
}

// One command at a time.
void PodReportStream::write_what_it_owes() {
  if (ended_ || writes_ || (!owes_stop_ && !owes_save_ && !owes_acknowledgement_)) return;
  command_.Clear();
  if (std::exchange(owes_stop_, false)) {
    command_.set_stop(true);
  } else if (const auto request = std::exchange(owes_save_, std::nullopt)) {
    command_.set_save(true);
    command_.set_request(*request);
  } else {
    owes_acknowledgement_ = false;
    command_.set_acknowledge_result(true);
  }
  writes_ = true;
  StartWrite(&command_);
}

void PodReportStream::OnWriteDone(bool ok) {
  const std::scoped_lock lock(mutex_);
  writes_ = false;
  if (ok) write_what_it_owes();
}

void PodReportStream::read_at_its_pace() {
  const auto wait = around_.places.reserve(reporter_.pod_uid, around_.clock.now());
  if (wait <= Clock::Duration::zero()) return resume();
  around_.observer.on_held_up();
  const std::scoped_lock lock(mutex_);
  if (ended_) return;
  pausing_ = true;
  alarm_.Set(std::chrono::system_clock::now() + wait, [this](bool) { resume(); });
}

// Reads the next report, unless the stream was ended while it paused.
void PodReportStream::resume() {
  const auto self = shared_from_this();
  {
    const std::scoped_lock lock(mutex_);
    const bool paused = std::exchange(pausing_, false);
    if (!ended_) return StartRead(&report_);
    if (!paused) return;
  }
  Finish(last_);
}

void PodReportStream::OnDone() {
  const auto self = std::move(self_);
  around_.places.leave(reporter_.pod_uid, *this, around_.clock.now());
  around_.observer.on_handled(std::string(rpc_code_name(last_.error_code())), around_.clock.now() - began_);
}

}  // namespace caravan::controller
