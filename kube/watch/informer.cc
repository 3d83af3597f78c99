#include "kube/watch/informer.h"

#include <fmt/format.h>

#include <algorithm>

namespace caravan::kube {
namespace {

// Long enough for many objects of the usual size at once; the tree of their values takes several times that.
constexpr std::size_t kLongestPage = std::size_t{4} << 20;

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

// How long an action may take, beside the time-out of a call.
Clock::Duration longest(const WatchAction& action, const WatchLimits& limits) {
  if (const auto* wait = std::get_if<Wait>(&action)) return wait->duration;
  if (std::holds_alternative<ReadEvent>(action)) return limits.longest_watch;
  return Clock::Duration::zero();
}

}  // namespace

Informer::Informer(Client& client, Clock& clock, Random random, Observer& observer, InformerOptions options,
                   Handler on_change)
    : client_(client),
      clock_(clock),
      random_(std::move(random)),
      observer_(observer),
      options_(std::move(options)),
      on_change_(std::move(on_change)) {}

Informer::~Informer() = default;

void Informer::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Informer::renew() {
  const std::lock_guard guard(mutex_);
  ++renewals_;
  interruption_.request_stop();
}

bool Informer::wait_until_synced(const CallContext& context) {
  std::unique_lock lock(mutex_);
  return clock_.wait_until(lock, listed_, context.deadline, context.stop,
                           [this] { return listed_for_ == renewals_; });
}

bool Informer::wait_while_pages_come(const std::stop_token& stop, Clock::Duration patience) {
  const Clock::TimePoint begun = clock_.now();
  const auto given_up_at = [&] {
    return std::max(begun, Clock::TimePoint(Clock::Duration(came_further_at_.load()))) + patience;
  };
  while (!wait_until_synced({.stop = stop, .deadline = given_up_at()})) {
    if (stop.stop_requested() || clock_.now() >= given_up_at()) return false;
  }
  return true;
}

bool Informer::awaits_list() {
  const std::lock_guard guard(mutex_);
  return listed_for_ != renewals_;
}

std::string Informer::reported_version() {
  const std::lock_guard guard(mutex_);
  return reported_version_;
}

Clock::Duration Informer::stuck_for() const {
  return std::max(clock_.now() - Clock::TimePoint(Clock::Duration(due_)), Clock::Duration::zero());
}

void Informer::run(const std::stop_token& stop) {
  const std::stop_callback stopping(stop, [this] {
    const std::lock_guard guard(mutex_);
    interruption_.request_stop();
  });
  WatchState state(options_.limits);
  WatchInput input = Started{};
  while (!stop.stop_requested()) {
    expect_progress_within(Clock::Duration::zero());
    if (take_up_renewal(stop)) input = RelistWanted{};
    WatchStep next = step(std::move(state), std::move(input), {.now = clock_.now(), .random = random_()});
    for (CacheUpdate& changed : next.updates) update(changed);
    state = std::move(next.state);
    expect_progress_within(longest(next.action, options_.limits));
    input = perform({.stop = interruption_.get_token()}, next.action);
  }
}

// True: a list begins now, which only a later renewal or the end interrupts.
bool Informer::take_up_renewal(const std::stop_token& stop) {
  const std::lock_guard guard(mutex_);
  if (listing_for_ == renewals_ || stop.stop_requested()) return false;
  listing_for_ = renewals_;
  most_pages_ = 0;
  interruption_ = {};
  return true;
}

WatchInput Informer::perform(const CallContext& context, const WatchAction& action) {
  return std::visit([&](const auto& known) { return perform(context, known); }, action);
}

WatchInput Informer::perform(const CallContext& context, const ListPage& action) {
  stream_.reset();
  if (action.begins) observer_.on_relist(options_.path.resource.plural);
  // A single object must pass; etcd bounds it as it bounds the lines of a watch.
  auto page = client_.list_page(context, options_.path,
                                {.label_selector = options_.label_selector,
                                 .limit = action.limit,
                                 .continue_token = action.continue_token,
                                 .part = options_.part,
                                 .longest_answer = action.limit > 1 ? kLongestPage : kLongestEvent});
  if (!page) return CallFailed{std::move(page.error())};
  return PageReceived{std::move(*page)};
}

WatchInput Informer::perform(const CallContext& context, const OpenWatch& action) {
  stream_.reset();
  observer_.on_watch_opened(options_.path.resource.plural);
  auto stream = client_.watch(context, options_.path,
                              {.label_selector = options_.label_selector,
                               .resource_version = action.resource_version,
                               .part = options_.part,
                               .timeout = action.timeout});
  if (!stream) return CallFailed{std::move(stream.error())};
  stream_.emplace(std::move(*stream));
  return WatchOpened{};
}

WatchInput Informer::perform(const CallContext& context, const ReadEvent&) {
  auto event = stream_->next(context);
  if (!event) return CallFailed{std::move(event.error())};
  if (!event->has_value()) return StreamClosed{};
  return EventReceived{std::move(**event)};
}

WatchInput Informer::perform(const CallContext& context, const Wait& action) {
  stream_.reset();
  clock_.sleep_until(clock_.now() + action.duration, context.stop);
  return WaitOver{};
}

void Informer::update(CacheUpdate& update) {
  if (const auto* warning = std::get_if<Warn>(&update)) {
    observer_.on_warning(fmt::format("watching {}: {}", options_.path.resource.plural, warning->message));
  }
  if (!std::holds_alternative<Warn>(update) && !std::holds_alternative<DropSetAside>(update))
    heard_at_ = clock_.now().time_since_epoch().count();
  const bool is_list = std::holds_alternative<ReplaceAll>(update);
  const std::string before = store_.resource_version();
  const std::vector<Change> changes = change(update);
  if (is_list) options_.on_list(before, store_.resource_version());
  for (const Change& changed : changes) on_change_(changed);
  finish_update(is_list);
}

void Informer::take_page() {
  if (++pages_ <= most_pages_) return;
  most_pages_ = pages_;
  came_further_at_ = clock_.now().time_since_epoch().count();
}

std::vector<Change> Informer::change(CacheUpdate& update) {
  using Changes = std::vector<Change>;
  return std::visit(Overloaded{
                        [this](const SetAside& page) {
                          take_page();
                          for (const Json& item : page.items) {
                            if (const auto kept = options_.keep(item)) store_.set_aside(*kept);
                          }
                          return Changes{};
                        },
                        [this](const DropSetAside&) {
                          pages_ = 0;
                          store_.drop_set_aside();
                          return Changes{};
                        },
                        [this](ReplaceAll& all) { return store_.replace(std::move(all.resource_version)); },
                        [this](const Upsert& upsert) {
                          const auto kept = options_.keep(upsert.object);
                          return kept ? store_.upsert(*kept) : store_.remove(upsert.object);
                        },
                        [this](const Remove& remove) { return store_.remove(remove.object); },
                        [this](Advance& advance) {
                          store_.advance(std::move(advance.resource_version));
                          return Changes{};
                        },
                        [](const Warn&) { return Changes{}; },
                    },
                    update);
}

void Informer::finish_update(bool is_list) {
  const std::lock_guard guard(mutex_);
  reported_version_ = store_.resource_version();
  if (!is_list) return;
  listed_for_ = listing_for_;
  listed_.notify_all();
}

}  // namespace caravan::kube
