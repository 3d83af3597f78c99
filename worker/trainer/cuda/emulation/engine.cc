#include "worker/trainer/cuda/emulation/engine.h"

#include <algorithm>
#include <array>
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstring>
#include <exception>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "worker/trainer/cuda/emulation/fiber_stack.h"

namespace caravan::cuda::emulation {
namespace {

namespace context = boost::context;

constexpr std::size_t kStackBytes = std::size_t{256} * 1024;

bool same(const Site& a, const Site& b) {
  return a.line == b.line && std::strcmp(a.file, b.file) == 0;
}

std::string text(const Site& site) {
  std::string text = site.file;
  text += ':';
  text += std::to_string(site.line);
  return text;
}

enum class State { Ready, InBarrier, InShuffle, Exited };

struct Thread {
  unsigned number = 0;
  State state = State::Ready;
  std::uint64_t rank = 0;  // the ready one with the highest is next
  Site site;               // of the shuffle it waits in
  unsigned mask = 0;       // lanes that take part in it
  unsigned source = 0;     // lane to read from
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  unsigned met = 0;      // lanes that took part
  context::fiber fiber;  // of the thread; while it runs, of the scheduler
  FiberStack stack;

  unsigned lane() const { return number % kWarp; }
  unsigned first_of_warp() const { return number - lane(); }
};

}  // namespace

class Engine::Impl {
 public:
  void launch(const Grid& grid, const std::function<void()>& kernel);
  void barrier(const Site& site);
  std::uint64_t exchange(unsigned mask, std::uint64_t sent, unsigned source, const Site& site);

  Order order;
  DeviceMemory memory;
  Index thread_index{}, block_index{}, block_size{}, grid_size{};
  std::vector<unsigned char> shared;
  Thread* running = nullptr;

 private:
  void add_thread();
  std::vector<unsigned> blocks_in_order();
  void run_thread(Thread& thread);
  void run_block();
  void choose_ranks_of_warps();
  Thread& next_ready();
  void wake(Thread& thread);
  void wake_all();
  void meet(const Thread& thread);
  void suspend() { switch_stacks(running->stack, scheduler_stack_); }
  void switch_stacks(FiberStack& from, FiberStack& to);
  [[noreturn]] void abandon_block();
  FaultInKernel deadlock() const;

  const std::function<void()>* kernel_ = nullptr;
  // Of a kind that nothing else here uses: threads share it, which the thread sanitizer may not see.
  std::minstd_rand random_;
  std::vector<std::unique_ptr<Thread>> threads_;    // of any block: a fiber is used again and again
  std::vector<std::unique_ptr<Thread>> abandoned_;  // by blocks that failed: their frames are never left
  std::vector<Thread*> ready_;                      // a heap by rank
  std::array<unsigned, kMaxThreads / kWarp> warp_ranks_{};
  unsigned count_ = 0, arrived_ = 0, exited_ = 0;  // threads of the block, in the barrier, done
  Site barrier_site_;
  // Places, for the thread sanitizer: of the block, and of barriers by turns, since a thread may reach the
  // next one before another has left this one.
  char begun_ = 0, ended_ = 0;
  std::array<char, 2> met_{};
  std::size_t barriers_ = 0;
  std::exception_ptr error_;
  std::optional<std::thread::id> launcher_;
  FiberStack scheduler_stack_;
};

void Engine::Impl::launch(const Grid& grid, const std::function<void()>& kernel) {
  if (launcher_.value_or(std::this_thread::get_id()) != std::this_thread::get_id())
    throw FaultInKernel("kernels are launched from one thread of a process");
  launcher_ = std::this_thread::get_id();
  if (grid.threads <= 0 || grid.threads > kMaxThreads || grid.blocks < 0 || grid.blocks > kMaxBlocks ||
      grid.shared_bytes > kMaxSharedBytes)
    throw FaultInKernel("no device can launch this grid");
  kernel_ = &kernel;
  count_ = static_cast<unsigned>(grid.threads);
  grid_size = {static_cast<unsigned>(grid.blocks)};
  block_size = {count_};
  while (threads_.size() < count_) add_thread();
  std::optional<Isolation> isolation;
  if (order.isolate_blocks) isolation.emplace(memory);
  for (const unsigned block : blocks_in_order()) {
    block_index = {block};
    shared = std::vector<unsigned char>(grid.shared_bytes, 0xff);
    happens_before(&begun_);
    run_block();
    happens_after(&ended_);
    if (isolation) isolation->end_block(block);
  }
  if (isolation) isolation->end_launch();
}

std::vector<unsigned> Engine::Impl::blocks_in_order() {
  random_.seed(static_cast<unsigned>(order.seed));
  if (order.only_block) return {*order.only_block};
  std::vector<unsigned> blocks(grid_size.x);
  std::iota(blocks.begin(), blocks.end(), 0U);
  std::shuffle(blocks.begin(), blocks.end(), random_);
  return blocks;
}

void Engine::Impl::add_thread() {
  Thread& thread = *threads_.emplace_back(std::make_unique<Thread>());
  thread.number = static_cast<unsigned>(threads_.size()) - 1;
  context::protected_fixedsize_stack stacks(kStackBytes);
  const context::stack_context stack = stacks.allocate();
  thread.stack = {.bottom = static_cast<char*>(stack.sp) - stack.size, .size = stack.size};
  const auto body = [this, &thread](context::fiber&& scheduler) {
    enter_stack(thread.stack, scheduler_stack_);
    thread.fiber = std::move(scheduler);
    for (;;) run_thread(thread);
    return std::move(thread.fiber);
  };
  thread.fiber = {std::allocator_arg, context::preallocated(stack.sp, stack.size, stack), stacks, body};
}

void Engine::Impl::run_thread(Thread& thread) {
  try {
    happens_after(&begun_);
    (*kernel_)();
  } catch (...) {
    error_ = std::current_exception();
  }
  happens_before(&ended_);
  thread.state = State::Exited;
  ++exited_;
  // Nobody waits for this thread any longer.
  for (unsigned i = thread.first_of_warp(); i < std::min(thread.first_of_warp() + kWarp, count_); ++i)
    if (threads_[i]->state == State::InShuffle) meet(*threads_[i]);
  suspend();
}

void Engine::Impl::run_block() {
  arrived_ = exited_ = 0;
  choose_ranks_of_warps();
  wake_all();
  while (!ready_.empty() && !error_) {
    running = &next_ready();
    thread_index = {running->number};
    switch_stacks(scheduler_stack_, running->stack);
  }
  if (error_ || exited_ != count_) abandon_block();
}

// Fair: every thread that is ready may be next. Else a warp that is before another runs as far as it can
// while the other stands: what it writes too early, the other has not read yet.
void Engine::Impl::choose_ranks_of_warps() {
  const bool fair = random_() % 2 == 0;
  std::iota(warp_ranks_.begin(), warp_ranks_.end(), 1U);
  std::shuffle(warp_ranks_.begin(), warp_ranks_.end(), random_);
  if (fair) warp_ranks_.fill(0);
}

Thread& Engine::Impl::next_ready() {
  std::ranges::pop_heap(ready_, {}, &Thread::rank);
  Thread& next = *ready_.back();
  ready_.pop_back();
  return next;
}

void Engine::Impl::abandon_block() {
  const std::exception_ptr error =
      error_ ? std::exchange(error_, nullptr) : std::make_exception_ptr(deadlock());
  ready_.clear();
  for (auto& thread : std::exchange(threads_, {})) abandoned_.push_back(std::move(thread));
  std::rethrow_exception(error);
}

void Engine::Impl::barrier(const Site& site) {
  if (arrived_ == 0) barrier_site_ = site;
  if (!same(site, barrier_site_))
    throw FaultInKernel("threads meet in different __syncthreads: " + text(barrier_site_) + " and " +
                        text(site));
  running->state = State::InBarrier;
  char* const met = &met_[barriers_ % met_.size()];
  happens_before(met);
  if (++arrived_ == count_) {
    ++barriers_;
    wake_all();
  }
  suspend();
  happens_after(met);
}

std::uint64_t Engine::Impl::exchange(unsigned mask, std::uint64_t sent, unsigned source, const Site& site) {
  Thread& thread = *running;
  if (!(mask >> thread.lane() & 1))
    throw FaultInKernel("the mask of a shuffle lacks the calling lane: " + text(site));
  thread.state = State::InShuffle;
  thread.site = site;
  thread.mask = mask;
  thread.source = source;
  thread.sent = sent;
  meet(thread);
  suspend();
  if (source >= kWarp || !(thread.met >> source & 1))
    throw FaultInKernel("a shuffle reads from a lane that takes no part: " + text(site));
  return thread.received;
}

// Lets the thread and the lanes it waits for go on, once all of them are in the same shuffle.
void Engine::Impl::meet(const Thread& thread) {
  Thread* members[kWarp] = {};
  unsigned met = 0;
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    const unsigned number = thread.first_of_warp() + lane;
    if (!(thread.mask >> lane & 1) || number >= count_ || threads_[number]->state == State::Exited) continue;
    Thread& member = *threads_[number];
    if (member.state != State::InShuffle || member.mask != thread.mask || !same(member.site, thread.site))
      return;
    members[lane] = &member;
    met |= 1U << lane;
  }
  for (Thread* const member : members) {
    if (member == nullptr) continue;
    member->met = met;
    if (member->source < kWarp && members[member->source] != nullptr)
      member->received = members[member->source]->sent;
    wake(*member);
  }
}

void Engine::Impl::wake(Thread& thread) {
  thread.state = State::Ready;
  thread.rank = std::uint64_t{warp_ranks_[thread.number / kWarp]} << 32 | random_();
  ready_.push_back(&thread);
  std::ranges::push_heap(ready_, {}, &Thread::rank);
}

void Engine::Impl::wake_all() {
  arrived_ = 0;
  for (unsigned i = 0; i < count_; ++i) wake(*threads_[i]);
}

void Engine::Impl::switch_stacks(FiberStack& from, FiberStack& to) {
  context::fiber& fiber = running->fiber;
  leave_stack(from, to);
  fiber = std::move(fiber).resume();
  enter_stack(from, to);
}

FaultInKernel Engine::Impl::deadlock() const {
  std::string message =
      "threads wait for ever: " + std::to_string(exited_) + " of " + std::to_string(count_) + " have exited";
  if (arrived_ > 0)
    message += ", " + std::to_string(arrived_) + " are in __syncthreads at " + text(barrier_site_);
  for (unsigned i = 0; i < count_; ++i)
    if (threads_[i]->state == State::InShuffle)
      return FaultInKernel(message + ", others in a shuffle at " + text(threads_[i]->site));
  return FaultInKernel(message);
}

Engine::Engine() : impl_(std::make_unique<Impl>()) {}
Engine::~Engine() = default;

void Engine::set_order(const Order& order) {
  impl_->order = order;
}
DeviceMemory& Engine::memory() {
  return impl_->memory;
}
void Engine::launch(const Grid& grid, const std::function<void()>& kernel) {
  impl_->launch(grid, kernel);
}
const Index& Engine::thread_index() const {
  return impl_->thread_index;
}
const Index& Engine::block_index() const {
  return impl_->block_index;
}
const Index& Engine::block_size() const {
  return impl_->block_size;
}
const Index& Engine::grid_size() const {
  return impl_->grid_size;
}
void* Engine::shared_memory() const {
  return impl_->shared.data();
}
unsigned Engine::lane() const {
  return impl_->running->lane();
}
void Engine::require_global(const void* address, const Site& site) const {
  const auto* const byte = static_cast<const unsigned char*>(address);
  const std::less<> before;
  const bool shared =
      !before(byte, impl_->shared.data()) && before(byte, impl_->shared.data() + impl_->shared.size());
  if (shared) throw FaultInKernel("a store to global memory goes to shared memory: " + text(site));
}
void Engine::barrier(const Site& site) {
  impl_->barrier(site);
}
std::uint64_t Engine::exchange(unsigned mask, std::uint64_t sent, unsigned source, const Site& site) {
  return impl_->exchange(mask, sent, source, site);
}

// Never destroyed: the fibers of its threads never return.
Engine& engine() {
  static Engine& engine = *new Engine;
  return engine;
}

}  // namespace caravan::cuda::emulation
