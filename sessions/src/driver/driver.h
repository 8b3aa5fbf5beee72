// The driver of the GPUs behind the library: its functions, found wherever they are. Its types are written out here, so
// that no CUDA toolkit is needed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace imbrex::sessions {

// Results and attributes of cuda.h.
constexpr int cuda_success = 0;
constexpr int cuda_invalid_value = 1;
constexpr int cuda_not_initialized = 3;
constexpr int attribute_context = 1;
constexpr int attribute_memory_type = 2;
constexpr int attribute_sync_memops = 6;
constexpr int attribute_buffer_id = 7;
constexpr int attribute_is_managed = 8;
constexpr int attribute_ordinal = 9;
constexpr int attribute_range_start = 11;
constexpr int attribute_range_size = 12;
constexpr unsigned memory_host = 1;
constexpr unsigned memory_device = 2;

/// By the order of driver_functions.def.
enum driver_id : int {
#define IX_DRIVER(symbol, ...) driver_##symbol,
#include "driver/driver_functions.def"
#undef IX_DRIVER
  num_driver_functions
};

/// The driver's own function, or null where there is no driver (yet).
void* driver_function(driver_id id);

template <class Function>
Function* driver_function_as(driver_id id) {
  return reinterpret_cast<Function*>(driver_function(id));
}

/// A function that the library does not stand before, such as cuInit; null where there is no driver loaded.
void* other_driver_function(const char* symbol);

/// Loads libcuda.so.1 where it is not loaded; false where there is none.
bool load_driver();

/// The name of a driver function.
const char* name_of(driver_id id);

/// CUDA_MEMCPY2D: `height` rows of `width` bytes.
struct memcpy_2d {
  struct side {
    std::size_t x = 0, y = 0;
    unsigned memory_type = 0;
    const void* host = nullptr;
    std::uint64_t device = 0;
    void* array = nullptr;
    std::size_t pitch = 0;
  };
  side from, to;
  std::size_t width = 0, height = 0;
};
constexpr std::size_t max_pitch = 0x7fffffff;

using get_attribute = int(void* data, int attribute, std::uint64_t pointer);
using get_attributes = int(unsigned count, int* attributes, void** data, std::uint64_t pointer);

}  // namespace imbrex::sessions
