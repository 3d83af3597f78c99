#include "kube/watch/informer.h"

#include <fmt/format.h>

#include <algorithm>

namespace caravan::kube {
namespace {

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

bool Informer::wait_until_synced(const CallContext& context) {
  std::unique_lock lock(synced_mutex_);
  return clock_.wait_until(lock, synced_changed_, context.deadline, context.stop,
                           [this] { return synced(); });
}

Clock::Duration Informer::stuck_for() const {
  return std::max(clock_.now() - Clock::TimePoint(Clock::Duration(due_)), Clock::Duration::zero());
}

void Informer::run(const std::stop_token& stop) {
  const CallContext context{.stop = stop};
  WatchState state(options_.limits);
  WatchInput input = Started{};
  while (true) {
    expect_progress_within(Clock::Duration::zero());
    WatchStep next = step(std::move(state), std::move(input), {.now = clock_.now(), .random = random_()});
    for (CacheUpdate& changed : next.updates) update(changed);
    state = std::move(next.state);
    expect_progress_within(longest(next.action, options_.limits));
    input = perform(context, next.action);
    if (stop.stop_requested()) return;
  }
}

WatchInput Informer::perform(const CallContext& context, const WatchAction& action) {
  return std::visit([&](const auto& known) { return perform(context, known); }, action);
}

WatchInput Informer::perform(const CallContext& context, const ListPage& action) {
  stream_.reset();
  if (action.continue_token.empty()) observer_.on_relist(options_.path.resource.plural);
  auto page = client_.list_page(context, options_.path,
                                {.label_selector = options_.label_selector,
                                 .limit = options_.page_size,
                                 .continue_token = action.continue_token});
  if (!page) return CallFailed{std::move(page.error())};
  return PageReceived{std::move(*page)};
}

WatchInput Informer::perform(const CallContext& context, const OpenWatch& action) {
  stream_.reset();
  observer_.on_watch_opened(options_.path.resource.plural);
  auto stream = client_.watch(context, options_.path,
                              {.label_selector = options_.label_selector,
                               .resource_version = action.resource_version,
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
  if (!std::holds_alternative<Warn>(update)) heard_at_ = clock_.now().time_since_epoch().count();
  const bool whole = std::holds_alternative<ReplaceAll>(update);
  for (const Change& changed : change(update)) on_change_(changed);
  if (!whole) return;
  const std::lock_guard guard(synced_mutex_);
  synced_ = true;
  synced_changed_.notify_all();
}

std::vector<Change> Informer::change(CacheUpdate& update) {
  return std::visit(Overloaded{
                        [this](ReplaceAll& all) {
                          for (Json& item : all.items) options_.trim(item);
                          return store_.replace(std::move(all.items), std::move(all.resource_version));
                        },
                        [this](Upsert& upsert) {
                          options_.trim(upsert.object);
                          return store_.upsert(std::move(upsert.object));
                        },
                        [this](Remove& remove) { return store_.remove(remove.object); },
                        [this](Advance& advance) {
                          store_.advance(std::move(advance.resource_version));
                          return std::vector<Change>{};
                        },
                        [](const Warn&) { return std::vector<Change>{}; },
                    },
                    update);
}

}  // namespace caravan::kube
