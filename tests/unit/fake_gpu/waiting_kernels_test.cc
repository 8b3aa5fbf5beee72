// Kernels that wait for another GPU hold a part of their own: few enough to leave most of it to others, however many
// PEs and streams there are.
#include "fake_gpu_fixture.h"

namespace waiting_kernels_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

task<> wait_for(stream* s) { co_await s->done(); }

struct waiting_kernels : fake_gpus {};

TEST_F(waiting_kernels, of_all_pes_leave_half_of_the_gpu_free) {
  constexpr int multiprocessors = 108, num_pes = 4, of_each = 12;
  open({.gpus = 2, .multiprocessors = multiprocessors});
  cuda_stream& s = make(0, "source");
  auto go = std::make_shared<std::atomic<bool>>(false);
  run_until_set(s, go);
  const event ready = s.record_for_others();
  buffer<std::byte> from(device(0), 1 << 20);
  // More PEs that drive GPU 1; this thread plays them all.
  std::vector<std::unique_ptr<cuda_completion>> completions;
  std::vector<std::unique_ptr<cuda_device>> handles;
  std::vector<std::unique_ptr<stream>> readers;
  std::vector<buffer<std::byte>> to;
  for (int pe = 0; pe < num_pes; ++pe) {
    completions.push_back(
        std::make_unique<cuda_completion>(gpu->pe.queue, completion_mode::flag, gpu->machine.pinned()));
    handles.push_back(
        std::make_unique<cuda_device>(gpu->machine, gpu->machine.gpu(1), gpu->pe.queue, *completions.back()));
    for (int i = 0; i < of_each; ++i) {
      readers.push_back(handles.back()->make_stream(stream_priority::high, "reader"));
      to.emplace_back(*handles.back(), 1 << 20);
      readers.back()->pull(ready, to.back().data(), from.data(), 1 << 20);
      readers.back()->pull(ready, to.back().data(), from.data(), 1 << 20);  // of one stream one waits at a time
    }
  }
  while (fake_cuda::most_waiting_blocks(1) == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_LE(fake_cuda::most_waiting_blocks(1), multiprocessors / 2);
  EXPECT_GE(fake_cuda::most_waiting_blocks(1), 32);
  *go = true;
  for (auto& r : readers) {
    while (!r->idle()) {
      for (auto& c : completions) {
        c->ensure_noticed();
        c->poll();
      }
    }
  }
  // What was taken is given back: again some may wait.
  auto again = std::make_shared<std::atomic<bool>>(false);
  run_until_set(s, again);
  readers.front()->pull(s.record_for_others(), to.front().data(), from.data(), 1 << 20);
  *again = true;
  while (!readers.front()->idle()) completions.front()->poll();
  readers.clear();
  to.clear();
  gpu->run(wait_for(&s));
}

}  // namespace

}  // namespace waiting_kernels_test
