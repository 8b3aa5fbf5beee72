#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Small graphs of tasks on two objects, as data.
namespace imbrex_test::stepped {

using in = std::span<const std::uint64_t>;
using out = std::span<std::uint64_t>;

/// Elements of an object, which there are two of; a slice unless it is all of it.
struct part {
  std::size_t object, offset, count;
};
constexpr std::size_t elements = 2;
constexpr part x{0, 0, 2}, y{1, 0, 2}, front{0, 0, 1}, back{0, 1, 1};

/// What a task does: changes `to`, or overwrites it, from itself or from `from`.
struct deed {
  part from, to;
  bool overwrites;
};
constexpr bool alone(const deed& d) {
  return d.from.object == d.to.object && d.from.offset == d.to.offset && d.from.count == d.to.count;
}

inline void compute(std::uint64_t id, in a, out b, bool overwrites) {
  for (std::size_t i = 0; i < b.size(); ++i) {
    b[i] = (overwrites ? 0 : b[i] * 3) + a[i % a.size()] * 0x9e3779b97f4a7c15 + id;
  }
}

/// Besides tasks: all of `to` is lent to somebody, received from the host or a device of somebody else, or evicted.
enum class step_kind { task, lend, receive_from_host, receive_from_device, evict };

struct step {
  deed what;
  int place;  // 0: the host
  step_kind kind = step_kind::task;
};
using graph_of_tasks = std::vector<step>;

inline std::string text(const step& s) {
  constexpr const char* kinds[] = {"", "lend", "receive from a host", "receive from a device", "evict"};
  const deed& d = s.what;
  if (s.kind != step_kind::task) return fmt::format("[{} {}] ", kinds[static_cast<int>(s.kind)], d.to.object);
  return fmt::format("[{}+{}:{} -> {}+{}:{}{} at {}] ", d.from.object, d.from.offset, d.from.count, d.to.object,
                     d.to.offset, d.to.count, d.overwrites ? ", overwritten" : "", s.place);
}
inline std::string text(const graph_of_tasks& g) {
  std::string all;
  for (const step& s : g) all += text(s);
  return all;
}

/// What comes from somebody else.
inline void receive(std::uint64_t id, out to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = 1000 * (id + 1) + i;
}
/// The step's part in sequential execution; what is lent goes to `seen`.
inline void do_step(const step& s, std::uint64_t id, std::vector<std::vector<std::uint64_t>>& objects,
                    std::vector<std::uint64_t>& seen) {
  const deed& d = s.what;
  const out to = out(objects[d.to.object]).subspan(d.to.offset, d.to.count);
  switch (s.kind) {
    case step_kind::task:
      return compute(id, in(objects[d.from.object]).subspan(d.from.offset, d.from.count), to, d.overwrites);
    case step_kind::lend: seen.assign(to.begin(), to.end()); return;
    case step_kind::receive_from_host:
    case step_kind::receive_from_device: return receive(id, to);
    case step_kind::evict: return;
  }
}

}  // namespace imbrex_test::stepped
