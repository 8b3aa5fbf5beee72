#include "imbrex/base/memory/sanitizer.h"

#include <cstddef>

// Of the sanitizer's public interface; absent where the program has none.
extern "C" [[gnu::weak]] void __asan_poison_memory_region(const volatile void* memory, std::size_t bytes);

namespace imbrex {

bool is_watched_by_address_sanitizer() noexcept { return address_sanitizer || &__asan_poison_memory_region != nullptr; }

}  // namespace imbrex
