// How the driver's functions are taken over: by their names (for what links libcuda.so.1), through dlsym and through
// cuGetProcAddress (for what loads it), and where the true ones are.
#include <dlfcn.h>

#include <atomic>
#include <cstring>

#include "base/settings.h"
#include "driver/driver.h"
#include "routines/symbols.h"

extern "C" {
// As the library defines them, for their addresses.
#define IX_DRIVER(symbol, ...) int imbrex_sessions_taken_##symbol() __asm__(#symbol);
#include "driver/driver_functions.def"
#undef IX_DRIVER
}

namespace imbrex::sessions {

namespace {

struct named_function {
  const char* symbol;
  const char* proc_name;
  bool per_thread;
  void* taken_by;
};
const named_function functions[] = {
#define IX_DRIVER(symbol, name, per_thread) \
  {#symbol, name, per_thread, reinterpret_cast<void*>(&imbrex_sessions_taken_##symbol)},
#include "driver/driver_functions.def"
#undef IX_DRIVER
};

std::atomic<void*> true_functions[num_driver_functions];

void* driver_library() {
  static std::atomic<void*> library{nullptr};
  void* known = library.load(std::memory_order_acquire);
  if (known == nullptr) {
    known = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    library.store(known, std::memory_order_release);
  }
  return known;
}

/// What a caller gets in place of `found`; remembers `found` as the driver's.
void* stand_before(int id, void* found) {
  if (found == nullptr || found == functions[id].taken_by) return found;
  void* none = nullptr;
  true_functions[id].compare_exchange_strong(none, found);
  return functions[id].taken_by;
}

constexpr std::uint64_t per_thread_flag = 2;  // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

int id_of_proc(const char* name, int version, std::uint64_t flags) {
  if (std::strcmp(name, "cuGetProcAddress") == 0 && version < 12000) return driver_cuGetProcAddress;
  if (std::strcmp(name, "cuGraphAddNode") == 0 && version >= 12030) return driver_cuGraphAddNode_v2;
  int found = -1;
  for (int id = 0; id < num_driver_functions; ++id) {
    if (std::strcmp(functions[id].proc_name, name) != 0) continue;
    if (functions[id].per_thread == ((flags & per_thread_flag) != 0)) return id;
    if (found < 0 && !functions[id].per_thread) found = id;
  }
  return found;
}

void replace_proc(const char* name, void** found, int version, std::uint64_t flags) {
  if (name == nullptr || found == nullptr || current_settings().modes == 0) return;
  const int id = id_of_proc(name, version, flags);
  if (id >= 0) *found = stand_before(id, *found);
}

}  // namespace

void* driver_function(driver_id id) {
  void* known = true_functions[id].load(std::memory_order_relaxed);
  if (known != nullptr) return known;
  void* found = next_symbol(functions[id].symbol);
  if (found == nullptr && driver_library() != nullptr) found = symbol_in(driver_library(), functions[id].symbol);
  if (found != nullptr && found != functions[id].taken_by) true_functions[id].store(found, std::memory_order_relaxed);
  return true_functions[id].load(std::memory_order_relaxed);
}

void* other_driver_function(const char* symbol) {
  void* found = next_symbol(symbol);
  return found == nullptr && driver_library() != nullptr ? symbol_in(driver_library(), symbol) : found;
}

bool load_driver() { return driver_library() != nullptr || dlopen("libcuda.so.1", RTLD_LAZY | RTLD_GLOBAL) != nullptr; }

const char* name_of(driver_id id) { return functions[id].symbol; }

}  // namespace imbrex::sessions

using namespace imbrex::sessions;  // NOLINT: what follows are C functions

extern "C" {

/// What dlsym() below gives; null when glibc's is to answer.
__attribute__((visibility("hidden"))) void* imbrex_sessions_dlsym(void* library, const char* name) {
  symbol_in(nullptr, "dlsym");  // finds glibc's, to which the trampoline goes on
  if (name == nullptr || name[0] != 'c' || name[1] != 'u') return nullptr;
  if (library == RTLD_DEFAULT || library == RTLD_NEXT || current_settings().modes == 0) return nullptr;
  for (int id = 0; id < num_driver_functions; ++id) {
    if (std::strcmp(functions[id].symbol, name) == 0) return stand_before(id, symbol_in(library, name));
  }
  return nullptr;
}

#pragma GCC visibility push(default)
int cuGetProcAddress(const char* name, void** found, int version, std::uint64_t flags) {
  using type = int(const char*, void**, int, std::uint64_t);
  auto* real = driver_function_as<type>(driver_cuGetProcAddress);
  if (real == nullptr) return cuda_not_initialized;
  const int result = real(name, found, version, flags);
  if (result == cuda_success) replace_proc(name, found, version, flags);
  return result;
}

int cuGetProcAddress_v2(const char* name, void** found, int version, std::uint64_t flags, void* status) {
  using type = int(const char*, void**, int, std::uint64_t, void*);
  auto* real = driver_function_as<type>(driver_cuGetProcAddress_v2);
  if (real == nullptr) return cuda_not_initialized;
  const int result = real(name, found, version, flags, status);
  if (result == cuda_success) replace_proc(name, found, version, flags);
  return result;
}
#pragma GCC visibility pop
}

// glibc's dlsym looks at who called it (RTLD_NEXT), so the library's must not be on the stack: it jumps.
#if defined(__x86_64__)
asm(R"(
  .text
  .p2align 4
  .globl dlsym
  .type dlsym, @function
dlsym:
  pushq %rdi
  pushq %rsi
  subq $8, %rsp
  call imbrex_sessions_dlsym@PLT
  addq $8, %rsp
  popq %rsi
  popq %rdi
  testq %rax, %rax
  jnz 1f
  jmp *imbrex_sessions_real_dlsym(%rip)
1:
  ret
  .size dlsym, . - dlsym
)");
#elif defined(__aarch64__)
asm(R"(
  .text
  .p2align 4
  .globl dlsym
  .type dlsym, @function
dlsym:
  stp x29, x30, [sp, #-32]!
  mov x29, sp
  stp x0, x1, [sp, #16]
  bl imbrex_sessions_dlsym
  mov x2, x0
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #32
  cbz x2, 1f
  mov x0, x2
  ret
1:
  adrp x16, imbrex_sessions_real_dlsym
  ldr x16, [x16, :lo12:imbrex_sessions_real_dlsym]
  br x16
  .size dlsym, . - dlsym
)");
#endif
