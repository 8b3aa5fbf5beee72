// What tasks take that are not over: a million on one object, submitted at once or with so many in memory at a time.
//
//   bench_task_memory            all at once
//   bench_task_memory 10000      fewer than 10,000
#include <fmt/core.h>
#include <imbrex/imbrex.h>

#include <fstream>
#include <string>
#include <vector>

#include "imbrex/base/clock.h"

namespace ix = imbrex;

namespace {

/// The most that the process has had in memory, in KiB.
long most_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    long kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib;
  }
  return 0;
}

ix::task<int> start(ix::runtime&, std::vector<std::string> arguments) {
  constexpr int num_tasks = 1'000'000;
  const std::uint64_t window = arguments.empty() ? num_tasks + 1 : std::stoull(arguments[0]);
  ix::hetero_object<double> x(16);
  ix::submit({}, [](std::span<double> v) { v[0] = 0; }, write(x));
  co_await ix::all_tasks();
  const long before = most_memory();
  const std::int64_t began = ix::now_ns();
  for (int i = 0; i < num_tasks; ++i) {
    ix::submit({}, [](std::span<double> v) { v[0] += 1; }, x);
    if (i % 64 == 0) co_await ix::fewer_tasks_than(window);
  }
  co_await ix::all_tasks();
  const double ns = static_cast<double>(ix::now_ns() - began) / num_tasks;
  const long kib = most_memory() - before;
  fmt::print("{} tasks, {} in memory at a time: {} KiB, {:.0f} bytes a task of these, {:.0f} ns a task\n", num_tasks,
             arguments.empty() ? "all" : arguments[0], kib,
             1024.0 * static_cast<double>(kib) / static_cast<double>(std::min<std::uint64_t>(window, num_tasks)), ns);
  auto access = x.host(ix::access_mode::read);
  const auto view = co_await access;
  co_return view[0] == num_tasks ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
