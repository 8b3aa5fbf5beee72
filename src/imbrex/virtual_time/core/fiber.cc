#include "imbrex/virtual_time/core/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/base/memory/sanitizer.h"

// Sanitizers are told of each change of stacks. They have no header for it that both compilers ship.
extern "C" {
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, std::size_t size);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom, std::size_t* size);
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}

namespace imbrex {

struct fibers::fiber {
  ucontext_t own{}, caller{};
  std::function<void()> function;
  std::byte* stack = nullptr;
  std::size_t bytes = 0;
  bool has_ended = false;
  void* of_tsan = nullptr;
  void* caller_of_tsan = nullptr;
  void* fake_stack = nullptr;  // of AddressSanitizer, while it waits
  const void* caller_bottom = nullptr;
  std::size_t caller_bytes = 0;

  ~fiber() {
    if (thread_sanitizer && of_tsan != nullptr) __tsan_destroy_fiber(of_tsan);
    if (stack != nullptr) munmap(stack, bytes);
  }
};

fibers::fibers() = default;
fibers::~fibers() = default;

void fibers::add(std::size_t stack_bytes, std::function<void()> f) {
  auto one = std::make_unique<fiber>();
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  one->bytes = (stack_bytes + page - 1) / page * page + page;
  void* const memory =
      mmap(nullptr, one->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw out_of_memory(fmt::format(
        "virtual time has stacks for {} ranks, and no room for another of {} MB: simulate fewer ranks (nodes), or "
        "allow more memory mappings (sysctl vm.max_map_count)",
        all_.size(), one->bytes >> 20U));
  }
  one->stack = static_cast<std::byte*>(memory);
  mprotect(memory, page, PROT_NONE);  // who overflows it is stopped
  one->function = std::move(f);
  getcontext(&one->own);
  one->own.uc_stack.ss_sp = memory;
  one->own.uc_stack.ss_size = one->bytes;
  one->own.uc_link = nullptr;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&one->own, reinterpret_cast<void (*)()>(&fibers::enter), 2, static_cast<unsigned>(self),
              static_cast<unsigned>(self >> 32));
  if (thread_sanitizer) one->of_tsan = __tsan_create_fiber(0);
  all_.push_back(std::move(one));
}

// makecontext passes numbers of type int.
void fibers::enter(unsigned low, unsigned high) {
  auto& all = *reinterpret_cast<fibers*>(static_cast<std::uintptr_t>(low) | (static_cast<std::uintptr_t>(high) << 32));
  fiber& me = *all.running_;
  if (address_sanitizer) __sanitizer_finish_switch_fiber(nullptr, &me.caller_bottom, &me.caller_bytes);
  all.any_went_on_ = true;
  me.function();
  me.has_ended = true;
  ++all.num_ended_;
  all.any_went_on_ = true;
  if (address_sanitizer) __sanitizer_start_switch_fiber(nullptr, me.caller_bottom, me.caller_bytes);
  if (thread_sanitizer) __tsan_switch_to_fiber(me.caller_of_tsan, 0);
  setcontext(&me.caller);
}

bool fibers::have_turns() {
  any_went_on_ = false;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    fiber& f = *all_[i];
    if (f.has_ended) continue;
    running_ = &f;
    void* fake_stack = nullptr;
    if (address_sanitizer) __sanitizer_start_switch_fiber(&fake_stack, f.stack, f.bytes);
    if (thread_sanitizer) {
      f.caller_of_tsan = __tsan_get_current_fiber();
      __tsan_switch_to_fiber(f.of_tsan, 0);
    }
    swapcontext(&f.caller, &f.own);
    if (address_sanitizer) __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
    running_ = nullptr;
  }
  return any_went_on_;
}

void fibers::give_turn_away() {
  fiber& me = *running_;
  if (address_sanitizer) __sanitizer_start_switch_fiber(&me.fake_stack, me.caller_bottom, me.caller_bytes);
  if (thread_sanitizer) __tsan_switch_to_fiber(me.caller_of_tsan, 0);
  swapcontext(&me.own, &me.caller);
  if (address_sanitizer) __sanitizer_finish_switch_fiber(me.fake_stack, &me.caller_bottom, &me.caller_bytes);
}

}  // namespace imbrex
