// How the end of GPU work is noticed (Choi et al. 2020, III-B), in each way that --imbrex-completion offers, and by a
// kernel's own last instruction:
//
//   gpu_completion_bench [ROUNDS]        default 2000
//
// "until noticed": from before the launch of a kernel that does nothing to the function that waited for it. "to
// enqueue": the part of that which the host spends enqueueing. "one look": at all streams, while each of 64 has a
// kernel under way that does not end. Medians, microseconds.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "gpu_completion_bench.h"
#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/device/cuda/cuda_completion.h"
#include "imbrex/device/cuda/cuda_device.h"

namespace {

using namespace imbrex;

/// The calling thread as a PE that drives one GPU.
struct lone_pe {
  explicit lone_pe(completion_mode mode) : machine({0}), completion(queue, mode, machine.pinned()) {
    memory.bind_to_this_thread();
    executor::set_current(&queue);
    queue.devices = &completion;
  }
  ~lone_pe() {
    executor::set_current(nullptr);
    slab::unbind_this_thread();
  }
  void look() {
    queue.collect();
    while (work* w = queue.next()) w->act(w, work_action::run);
    completion.poll();
  }

  slab memory;
  executor queue;
  cuda_machine machine;
  cuda_completion completion;
  cuda_device gpu{machine, machine.gpu(0), queue, completion};
};

double median(std::vector<double> us) {
  std::ranges::nth_element(us, us.begin() + static_cast<std::ptrdiff_t>(us.size() / 2));
  return us[us.size() / 2];
}

double since(std::int64_t start) { return static_cast<double>(now_ns() - start) * 1e-3; }

void measure(const char* name, completion_mode mode, bool marked, int rounds) {
  lone_pe pe(mode);
  std::vector<double> noticed, enqueued, looks;
  {
    const auto s = pe.gpu.make_stream(stream_priority::low, "a stream");
    for (int i = 0; i < rounds; ++i) {
      bool done = false;
      const std::int64_t start = now_ns();
      if (marked) {
        imbrex_bench::nothing_marked(*s);
      } else {
        imbrex_bench::nothing(*s);
      }
      s->then("noticed", [&done] { done = true; });
      enqueued.push_back(since(start));
      while (!done) pe.look();
      noticed.push_back(since(start));
    }
  }
  if (mode != completion_mode::sync) {
    std::vector<std::unique_ptr<stream>> streams;
    for (int i = 0; i < 64; ++i) {
      streams.push_back(pe.gpu.make_stream(stream_priority::low, "one of many"));
      imbrex_bench::take_time(*streams.back(), 20'000);
    }
    pe.completion.ensure_noticed();
    for (int i = 0; i < 200; ++i) {
      const std::int64_t start = now_ns();
      pe.look();
      looks.push_back(since(start));
    }
  }
  std::printf("%-24s %14.2f %12.2f", name, median(noticed), median(enqueued));
  if (looks.empty()) {
    std::printf("%12s\n", "blocks");
  } else {
    std::printf(" %11.2f\n", median(looks));
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 2000;
  if (rounds < 1) {
    std::fprintf(stderr, "gpu_completion_bench: '%s' is no number of rounds\n", argv[1]);
    return 2;
  }
  std::string why;
  if (cuda_machine::count(&why) == 0) {
    std::fprintf(stderr, "gpu_completion_bench: %s\n", why.c_str());
    return 1;
  }
  std::printf("%-24s %14s %12s %11s\n", "", "until noticed", "to enqueue", "one look");
  try {
    measure("flag, by the kernel", completion_mode::flag, true, rounds);
    measure("flag, by the stream", completion_mode::flag, false, rounds);
    measure("event", completion_mode::event, false, rounds);
    measure("callback", completion_mode::callback, false, rounds);
    measure("sync", completion_mode::sync, false, rounds);
  } catch (const error& e) {
    std::fprintf(stderr, "gpu_completion_bench: %s\n", e.what());
    return 1;
  }
}
