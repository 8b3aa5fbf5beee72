#include "routines/thread_state.h"

#include <pthread.h>
#include <sys/mman.h>

#include <atomic>

#include "base/settings.h"

namespace imbrex::sessions {

namespace {

/// Blocks are never given back: counts outlive their threads, and later threads go on with them.
struct counts_block {
  routine_counts counts[num_routines + 1];
  std::atomic<bool> in_use;
  counts_block* next;
};

std::atomic<counts_block*> blocks{nullptr};
pthread_once_t key_made = PTHREAD_ONCE_INIT;
pthread_key_t key;

void thread_ends(void* block) {
  here.counts = nullptr;
  static_cast<counts_block*>(block)->in_use.store(false, std::memory_order_release);
}

void make_key() { pthread_key_create(&key, &thread_ends); }

counts_block* left_block() {
  for (counts_block* b = blocks.load(std::memory_order_acquire); b != nullptr; b = b->next) {
    bool expected = false;
    if (b->in_use.compare_exchange_strong(expected, true, std::memory_order_acquire)) return b;
  }
  return nullptr;
}

counts_block* new_block() {
  void* memory = mmap(nullptr, sizeof(counts_block), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) give_up("no memory for %zu B of counts of a thread", sizeof(counts_block));
  auto* block = static_cast<counts_block*>(memory);  // zeros are what its members start with
  block->in_use.store(true, std::memory_order_relaxed);
  block->next = blocks.load(std::memory_order_relaxed);
  while (!blocks.compare_exchange_weak(block->next, block, std::memory_order_release)) {
  }
  return block;
}

}  // namespace

constinit thread_local thread_state here __attribute__((tls_model("initial-exec")));

void routine_counts::add(const routine_counts& other) {
  calls += other.calls;
  checks += other.checks;
  bytes_sent += other.bytes_sent;
  bytes_received += other.bytes_received;
  queries += other.queries;
  injected += other.injected;
  declared += other.declared;
  cached += other.cached;
  host += other.host;
  ticks += other.ticks;
}

routine_counts* take_counts() {
  pthread_once(&key_made, &make_key);
  counts_block* block = left_block();
  if (block == nullptr) block = new_block();
  pthread_setspecific(key, block);
  here.counts = block->counts;
  return here.counts;
}

void sum_counts(routine_counts* sums) {
  for (int i = 0; i <= num_routines; ++i) sums[i] = {};
  for (counts_block* b = blocks.load(std::memory_order_acquire); b != nullptr; b = b->next) {
    for (int i = 0; i <= num_routines; ++i) sums[i].add(b->counts[i]);
  }
}

}  // namespace imbrex::sessions
