#include "fake_machine.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace fake_cuda {

thread_local int current_gpu = 0;
thread_local cudaError_t last_error = cudaSuccess;

namespace {

std::unique_ptr<machine> made(const shape& s) {
  auto m = std::make_unique<machine>();
  m->what = s;
  const auto n = static_cast<std::size_t>(s.gpus);
  m->used.resize(n);
  m->waiting_blocks.resize(n);
  m->most_waiting_blocks.resize(n);
  return m;
}

std::unique_ptr<machine>& holder() {
  static auto* const one = new std::unique_ptr<machine>(made(shape{}));
  return *one;
}

void run_stream(machine& m, stream& s) {
  std::unique_lock lock(s.mutex);
  for (;;) {
    s.changed.wait(lock, [&] { return !s.queued.empty() || s.destroyed || m.stopping; });
    if (s.queued.empty() || m.stopping) return;
    const step operation = std::move(s.queued.front());
    s.queued.pop_front();
    s.running = true;
    lock.unlock();
    while (!m.stopping && !operation()) std::this_thread::sleep_for(std::chrono::microseconds(20));
    lock.lock();
    s.running = false;
  }
}

struct end_of_tests : testing::Environment {
  void TearDown() override { stop(); }
};
[[maybe_unused]] const auto* const at_the_end = testing::AddGlobalTestEnvironment(new end_of_tests);

}  // namespace

machine& the_machine() { return *holder(); }

void start(const shape& s) {
  stop();
  holder() = made(s);
}

void stop() {
  machine& m = the_machine();
  m.stopping = true;
  for (auto& s : m.streams) {
    {
      const std::lock_guard lock(s->mutex);
      s->changed.notify_all();
    }
    if (s->thread.joinable()) s->thread.join();
  }
  m.streams.clear();
  for (const auto& [address, a] : m.allocations) {
    if (a.gpu >= 0) {
      munmap(reinterpret_cast<void*>(address), a.bytes);
      close(a.file);
    } else {
      std::free(reinterpret_cast<void*>(address));
    }
  }
  m.allocations.clear();
  for (const auto& [bytes, addresses] : m.freed_addresses) {
    for (void* const a : addresses) munmap(a, bytes);
  }
  m.freed_addresses.clear();
}

bool stopping() { return the_machine().stopping; }

void separate(int from, int to) { the_machine().apart.emplace(from, to); }

std::vector<std::string> blocked_calls() {
  const std::lock_guard lock(the_machine().mutex);
  return the_machine().blocked;
}
std::vector<std::string> failures() {
  const std::lock_guard lock(the_machine().mutex);
  return the_machine().failed;
}
int most_waiting_blocks(int gpu) {
  const std::lock_guard lock(the_machine().mutex);
  return the_machine().most_waiting_blocks[static_cast<std::size_t>(gpu)];
}
int num_open_handles() {
  const std::lock_guard lock(the_machine().mutex);
  return static_cast<int>(
      std::ranges::count_if(the_machine().allocations, [](const auto& a) { return a.second.opened; }));
}
int calls_of(const std::string& function) {
  const std::lock_guard lock(the_machine().mutex);
  return the_machine().calls[function];
}
std::map<std::string, int> calls() {
  const std::lock_guard lock(the_machine().mutex);
  return {the_machine().calls.begin(), the_machine().calls.end()};
}
void refuse_events() { the_machine().refuses_events = true; }
bool is_pageable(const void* memory) {
  const std::lock_guard lock(the_machine().mutex);
  return find(memory) == nullptr;
}
bool is_of_host(const void* memory) {
  const std::lock_guard lock(the_machine().mutex);
  const allocation* const found = find(memory);
  return found == nullptr || found->gpu < 0;
}
int gpu_of_memory(const void* memory) {
  const std::lock_guard lock(the_machine().mutex);
  const allocation* const found = find(memory);
  return found == nullptr ? -1 : found->gpu;
}
void launch(cudaStream_t s, std::function<void()> kernel) {
  enqueue(s, [k = std::move(kernel)] {
    k();
    return true;
  });
}

cudaError_t result(cudaError_t e) {
  if (e != cudaSuccess) last_error = e;
  return e;
}
void count_call(const char* function) {
  const std::lock_guard lock(the_machine().mutex);
  ++the_machine().calls[function];
}
void fail(const std::string& what) {
  const std::lock_guard lock(the_machine().mutex);
  the_machine().failed.push_back(what);
}

bool block(const char* function, const std::function<bool()>& done) {
  machine& m = the_machine();
  const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(m.what.patience_ms);
  while (!done()) {
    if (std::chrono::steady_clock::now() > limit) {
      const std::lock_guard lock(m.mutex);
      m.blocked.emplace_back(function);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

bool is_idle(stream& s) {
  const std::lock_guard lock(s.mutex);
  return s.queued.empty() && !s.running;
}

stream* of(cudaStream_t s) { return reinterpret_cast<stream*>(s); }

void enqueue(cudaStream_t native, step operation) {
  machine& m = the_machine();
  if (native == cudaStreamPerThread) {
    while (!m.stopping && !operation()) std::this_thread::sleep_for(std::chrono::microseconds(20));
    return;
  }
  stream& s = *of(native);
  const std::lock_guard lock(s.mutex);
  s.queued.push_back(std::move(operation));
  if (!s.thread.joinable()) s.thread = std::thread([&m, &s] { run_stream(m, s); });
  s.changed.notify_all();
}

const allocation* find(const void* memory) {
  const auto& all = the_machine().allocations;
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  auto after = all.upper_bound(address);
  if (after == all.begin()) return nullptr;
  --after;
  return address - after->first < after->second.bytes ? &after->second : nullptr;
}

bool reaches(int gpu, const void* memory) {
  machine& m = the_machine();
  const std::lock_guard lock(m.mutex);
  const allocation* const a = find(memory);
  if (a == nullptr) return false;
  if (a->gpu < 0 || a->opened || a->gpu == gpu || a->by == origin::managed) return true;
  return a->by == origin::pool ? m.pool_access.contains({gpu, a->gpu}) : m.enabled.contains({gpu, a->gpu});
}

}  // namespace fake_cuda
