#include "bare_threads.h"

#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "imbrex/base/error.h"
#include "spin_barrier.h"

namespace jacobi {
namespace {

using steady_clock = std::chrono::steady_clock;

/// A field as it is, without outgoing faces.
block_view bare_view(block_field& field) {
  block_view v = field.view();
  for (int hi = 0; hi < 2; ++hi) v.pack_x[hi] = v.pack_y[hi] = nullptr;
  return v;
}

}  // namespace

bare_threads::bare_threads(extents grid, double boundary, const update_kernel& kernel, int num_threads)
    : field_(grid, boundary), kernel_(kernel), num_threads_(num_threads) {
  if (num_threads < 1 || num_threads > grid.nz)
    throw imbrex::usage_error("cannot share " + std::to_string(grid.nz) + " planes among " +
                              std::to_string(num_threads) + " threads: use from 1 thread to one for each plane");
}

double bare_threads::run(std::int64_t iterations) {
  block_view views[2];
  views[0] = bare_view(field_);
  field_.advance();
  views[1] = bare_view(field_);
  field_.advance();

  spin_barrier barrier(num_threads_);
  steady_clock::time_point begin, end;
  auto work = [&](int thread) {
    pin_to_core(thread);
    const std::int64_t nz = field_.size().nz;
    const row_range slab{nz * thread / num_threads_, nz * (thread + 1) / num_threads_, 0, field_.size().ny};
    barrier.wait();
    if (thread == 0) begin = steady_clock::now();
    for (std::int64_t i = 0; i < iterations; ++i) {
      kernel_.update(views[i % 2], slab);
      barrier.wait();
    }
    if (thread == 0) end = steady_clock::now();
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(num_threads_));
  for (int t = 0; t < num_threads_; ++t) threads.emplace_back(work, t);
  for (std::thread& t : threads) t.join();
  if (iterations % 2 != 0) field_.advance();
  return std::chrono::duration<double, std::micro>(end - begin).count() / static_cast<double>(iterations);
}

void pin_to_core(int n) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  const int count = CPU_COUNT(&allowed);
  if (count == 0) return;
  int index = n % count;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || index-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    return;
  }
}

}  // namespace jacobi
