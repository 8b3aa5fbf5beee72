#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "unit/fake_gpu/cuda_fake.h"

/// What the fake functions of the driver share.
namespace fake_cuda {

/// One operation of a stream: true when it is over.
using step = std::function<bool()>;

struct stream {
  int gpu = 0;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<step> queued;
  bool running = false;  // an operation
  bool destroyed = false;
  std::thread thread;
};

struct recorded {
  std::atomic<bool> happened{false};
};
struct event {
  int gpu = 0;
  std::shared_ptr<recorded> last;
};

/// Who allocated it.
enum class origin { cuda_malloc, pool, managed };

struct allocation {
  std::size_t bytes = 0;
  int gpu = -1;   // -1: pinned memory of the host
  int file = -1;  // of a GPU's memory
  bool opened = false;
  origin by = origin::cuda_malloc;
};

struct machine {
  shape what;
  std::mutex mutex;
  std::map<std::uintptr_t, allocation> allocations;
  std::map<std::size_t, std::vector<void*>> freed_addresses;  // used again first, as drivers do
  std::vector<std::size_t> used;                              // of each GPU
  std::set<std::pair<int, int>> apart, enabled, pool_access;
  std::vector<std::unique_ptr<stream>> streams;
  std::vector<std::string> blocked, failed;
  std::map<std::string, int> calls;
  std::vector<int> waiting_blocks, most_waiting_blocks;
  std::atomic<bool> stopping{false}, refuses_events{false};
};

machine& the_machine();
extern thread_local int current_gpu;
extern thread_local cudaError_t last_error;

/// Notes the error for the calling thread, and returns it.
cudaError_t result(cudaError_t e);
void count_call(const char* function);
void fail(const std::string& what);

/// Waits until `done`; false, and it is noted, when that takes longer than the machine's patience.
bool block(const char* function, const std::function<bool()>& done);
bool is_idle(stream& s);
void enqueue(cudaStream_t s, step operation);
stream* of(cudaStream_t s);

/// The allocation that an address lies in; null: memory that is not CUDA's. With the machine's lock.
const allocation* find(const void* memory);
/// Whether kernels of GPU `gpu` may touch that memory.
bool reaches(int gpu, const void* memory);

}  // namespace fake_cuda
