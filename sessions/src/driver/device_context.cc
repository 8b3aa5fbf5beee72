#include "driver/device_context.h"

#include "driver/staging_memory.h"

namespace imbrex::sessions {

namespace {

struct known_contexts {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  std::vector<device_context*> all;
};

known_contexts& known() {
  static auto* made = new known_contexts;  // outlives the last MPI call, whenever that is
  return *made;
}

/// 0 with drivers before CUDA 12.
std::uint64_t id_of(void* handle) {
  using type = int(void*, std::uint64_t*);
  static auto* const ask = reinterpret_cast<type*>(other_driver_function("cuCtxGetId"));
  std::uint64_t id = 0;
  return ask != nullptr && ask(handle, &id) == cuda_success ? id : 0;
}

device_context* known_as(void* handle) {
  const std::uint64_t id = id_of(handle);
  known_contexts& k = known();
  const mutex_scope guard(k.lock);
  for (device_context* c : k.all) {
    if (c->handle == handle && c->id == id) return c;
  }
  auto* made = new device_context;
  made->handle = handle;
  made->id = id;
  k.all.push_back(made);
  return made;
}

void* current_handle() {
  static auto* const ask = needed_of_driver<int(void**)>("cuCtxGetCurrent");
  void* current = nullptr;
  return ask(&current) == cuda_success ? current : nullptr;
}

void* primary_handle(get_attribute* ask, std::uint64_t pointer) {
  static auto* const retain = needed_of_driver<int(void**, int)>("cuDevicePrimaryCtxRetain");
  int ordinal = 0;
  void* primary = nullptr;
  const bool found =
      ask(&ordinal, attribute_ordinal, pointer) == cuda_success && retain(&primary, ordinal) == cuda_success;
  return found ? primary : nullptr;
}

}  // namespace

device_context* context_of(const void* device_memory) {
  auto* ask = driver_function_as<get_attribute>(driver_cuPointerGetAttribute);
  const auto pointer = reinterpret_cast<std::uint64_t>(device_memory);
  void* handle = nullptr;
  if (ask(&handle, attribute_context, pointer) != cuda_success) handle = nullptr;
  if (handle == nullptr) handle = current_handle();
  if (handle == nullptr) handle = primary_handle(ask, pointer);
  if (handle == nullptr) give_up("stage: the driver has no context for device memory at %p", device_memory);
  return known_as(handle);
}

context_scope::context_scope(const device_context* context) {
  static auto* const push = needed_of_driver<int(void*)>("cuCtxPushCurrent_v2");
  expect_success(push(context->handle), "cuCtxPushCurrent");
}

context_scope::~context_scope() {
  static auto* const pop = needed_of_driver<int(void**)>("cuCtxPopCurrent_v2");
  void* popped = nullptr;
  expect_success(pop(&popped), "cuCtxPopCurrent");
}

}  // namespace imbrex::sessions
