#include "worker/trainer/comm/shared_memory/shared_memory_communicator.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "planner/work/constants.h"
#include "worker/trainer/comm/gather_rows.h"
#include "worker/trainer/comm/ordered_reduction.h"
#include "worker/trainer/comm/partition.h"
#include "worker/trainer/comm/shared_memory/meeting.h"
#include "worker/trainer/comm/shared_memory/shared_mapping.h"

namespace caravan::trainer {
namespace {

using planner::kMostRanksSharingMemory;

constexpr int64_t kCopyPerThread = 128 << 10;  // bytes that are worth a thread
constexpr int64_t kSmallBytes = 16 << 10;  // below, a meeting costs more than adding up everything everywhere

void copy_bytes(void* target, const void* source, int64_t bytes) {
  at::parallel_for(0, bytes, kCopyPerThread, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<std::byte*>(target) + begin, static_cast<const std::byte*>(source) + begin,
                static_cast<std::size_t>(end - begin));
  });
}

// The elements of a tensor, of which the collectives know no more than type and number.
struct Elements {
  explicit Elements(const at::Tensor& tensor)
      : data(static_cast<std::byte*>(tensor.data_ptr())),
        type(tensor.scalar_type()),
        width(static_cast<int64_t>(tensor.element_size())),
        count(tensor.numel()) {}

  std::byte* at(int64_t element) const { return data + element * width; }
  int64_t bytes(Range range) const { return range.size() * width; }

  std::byte* data;
  at::ScalarType type;
  int64_t width;
  int64_t count;
};

class SharedMemoryCommunicator final : public Communicator {
 public:
  SharedMemoryCommunicator(std::unique_ptr<Communicator> group, Meeting meeting)
      : group_(std::move(group)), meeting_(std::move(meeting)) {}

  int rank() const override { return meeting_.rank(); }
  int size() const override { return meeting_.size(); }

  void all_reduce(at::Tensor& tensor, Reduction reduction) override {
    const Elements all(tensor);
    if (reduction == Reduction::Max || size() == 2 || all.count * all.width <= kSmallBytes)
      return reduce_everywhere(reduction, all);
    const Partition partition(all.count, size());
    reduce_own_part(partition, all.at(partition.part(rank()).begin), all, "all-reduce");
    spread_parts(partition, all, "all-reduce");
  }

  void all_gather(at::Tensor& output, const at::Tensor& input) override {
    const Elements all(output);
    const Partition partition(all.count, size());
    copy_unless_same(view(output.view(-1), partition.part(rank())), input.view(-1));
    spread_parts(partition, all, "all-gather");
  }

  void reduce_scatter(at::Tensor& output, const at::Tensor& input) override {
    const Elements all(input);
    reduce_own_part(Partition(all.count, size()), Elements(output).data, all, "reduce-scatter");
  }

  void broadcast(at::Tensor& tensor, int root) override {
    const Elements all(tensor);
    for_each_piece(all, [&](Range piece) {
      if (rank() == root) copy_bytes(meeting_.own_slot(), all.at(piece.begin), all.bytes(piece));
      meeting_.meet("broadcast");
      if (rank() != root) copy_bytes(all.at(piece.begin), meeting_.shown_by(root), all.bytes(piece));
    });
  }

  void barrier() override { meeting_.meet("barrier"); }

  std::unique_ptr<PendingTransfer> send(const at::Tensor& tensor, int peer, int tag) override {
    return group_->send(tensor, peer, tag);
  }
  std::unique_ptr<PendingTransfer> receive(at::Tensor& tensor, int peer, int tag) override {
    return group_->receive(tensor, peer, tag);
  }

 private:
  int peer_after(int from, int distance) const { return (from + distance) % size(); }

  // As many elements as a slot holds.
  template <typename Action>
  void for_each_piece(const Elements& all, const Action& action) {
    const int64_t most = kSlotBytes / all.width;
    for (int64_t begin = 0; begin < all.count; begin += most)
      action(Range{begin, std::min(begin + most, all.count)});
  }

  // Every rank shows all that it has, and all of them reduce it.
  void reduce_everywhere(Reduction reduction, const Elements& all) {
    const Partition partition(all.count, size());
    for_each_piece(all, [&](Range piece) {
      copy_bytes(meeting_.own_slot(), all.at(piece.begin), all.bytes(piece));
      meeting_.meet("all-reduce");
      for (int owner = 0; owner < size(); ++owner) {
        const Range range = overlap(piece, partition.part(owner));
        const int64_t offset = (range.begin - piece.begin) * all.width;
        std::array<const void*, kMostRanksSharingMemory> terms{};
        for (int distance = 0; distance < size(); ++distance)
          terms[distance] = meeting_.shown_by(peer_after(owner, distance)) + offset;
        reduce_in_order(reduction, all.type, all.at(range.begin), std::span(terms).first(size()),
                        range.size());
      }
    });
  }

  // A slot is cut into one piece for each rank. own: where the sum goes.
  void reduce_own_part(const Partition& partition, std::byte* own, const Elements& all,
                       const char* operation) {
    const int64_t most = kSlotBytes / (all.width * size());
    for (int64_t begin = 0; begin < partition.part_elements(); begin += most) {
      for (int distance = 1; distance < size(); ++distance) {
        const int peer = peer_after(rank(), distance);
        const Range theirs = partition.chunk(peer, begin, most);
        copy_bytes(meeting_.own_slot() + peer * most * all.width, all.at(theirs.begin), all.bytes(theirs));
      }
      meeting_.meet(operation);
      const Range mine = partition.chunk(rank(), begin, most);
      std::array<const void*, kMostRanksSharingMemory> terms{all.at(mine.begin)};
      for (int distance = 1; distance < size(); ++distance)
        terms[distance] = meeting_.shown_by(peer_after(rank(), distance)) + rank() * most * all.width;
      reduce_in_order(Reduction::Sum, all.type, own + begin * all.width, std::span(terms).first(size()),
                      mine.size());
    }
  }

  void spread_parts(const Partition& partition, const Elements& all, const char* operation) {
    const int64_t most = kSlotBytes / all.width;
    for (int64_t begin = 0; begin < partition.part_elements(); begin += most) {
      const Range mine = partition.chunk(rank(), begin, most);
      copy_bytes(meeting_.own_slot(), all.at(mine.begin), all.bytes(mine));
      meeting_.meet(operation);
      for (int distance = 1; distance < size(); ++distance) {
        const int peer = peer_after(rank(), distance);
        const Range theirs = partition.chunk(peer, begin, most);
        copy_bytes(all.at(theirs.begin), meeting_.shown_by(peer), all.bytes(theirs));
      }
    }
  }

  const std::unique_ptr<Communicator> group_;
  Meeting meeting_;
};

// What a rank tells the others; numbers of processes mean something in one namespace only.
enum Column { kNode, kNamespace, kProcess, kDescriptor };
using Row = std::array<double, 4>;

double process_namespace() {
  struct stat facts {};
  return stat("/proc/self/ns/pid", &facts) == 0 ? static_cast<double>(facts.st_ino) : 0;
}

bool on_one_machine(const std::vector<Row>& rows) {
  return std::all_of(rows.begin(), rows.end(), [&](const Row& row) {
    return row[kNode] == rows[0][kNode] && row[kNamespace] == rows[0][kNamespace] && row[kDescriptor] >= 0;
  });
}

UniqueFd watch(pid_t process) {
  UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  if (fd.get() < 0)
    throw std::system_error(errno, std::generic_category(), fmt::format("watching process {}", process));
  return fd;
}

// Of whatever kind the trouble is, the group works without.
template <typename Action>
auto unless_refused(const std::string& name, Action&& action) -> std::optional<decltype(action())> {
  try {
    return action();
  } catch (const std::system_error& error) {
    std::fprintf(stderr, "caravan-trainer: group %s has no shared memory: %s\n", name.c_str(), error.what());
    return std::nullopt;
  }
}

std::optional<SharedMapping> make_mapping(const Communicator& group, const std::string& name) {
  if (group.rank() != 0) return std::nullopt;
  return unless_refused(name, [&] { return SharedMapping::make(Meeting::bytes(group.size())); });
}

Meeting open_meeting(std::optional<SharedMapping> own, const std::vector<Row>& rows, int rank,
                     const SharedMemoryOptions& options) {
  const auto number = [&](int of, Column column) { return static_cast<int>(rows[of][column]); };
  const auto ranks = static_cast<int>(rows.size());
  std::vector<UniqueFd> processes(rows.size());
  for (int other = 0; other < ranks; ++other)
    if (other != rank) processes[other] = watch(number(other, kProcess));
  SharedMapping mapping =
      own ? *std::move(own)
          : SharedMapping::open(number(0, kProcess), number(0, kDescriptor), Meeting::bytes(ranks));
  return {
      std::move(mapping),
      {.group = options.name, .rank = rank, .processes = std::move(processes), .timeout = options.timeout}};
}

}  // namespace

std::unique_ptr<Communicator> share_memory(std::unique_ptr<Communicator> group,
                                           const SharedMemoryOptions& options) {
  if (group->size() > kMostRanksSharingMemory) return group;
  std::optional<SharedMapping> made = make_mapping(*group, options.name);
  const double descriptor = group->rank() > 0 ? 0 : made ? made->fd() : -1;
  const std::vector<Row> rows = gather_rows(
      *group,
      Row{static_cast<double>(options.node), process_namespace(), static_cast<double>(getpid()), descriptor});
  if (!on_one_machine(rows)) return group;
  std::optional<Meeting> meeting = unless_refused(
      options.name, [&] { return open_meeting(std::move(made), rows, group->rank(), options); });
  const auto all_have_it = gather_rows(*group, std::array<double, 1>{meeting ? 1.0 : 0.0});
  const bool shared = std::ranges::all_of(all_have_it, [](const auto& row) { return row[0] == 1; });
  if (!shared) return group;
  return std::make_unique<SharedMemoryCommunicator>(std::move(group), *std::move(meeting));
}

}  // namespace caravan::trainer
