#include "imbrex/runtime/virtual_time/large_pages.h"

#include "imbrex/base/memory/sanitizer.h"

#if defined(__GLIBC__)
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>
#endif

namespace imbrex::detail {

#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
void use_large_pages(std::size_t bytes) {
  if (address_sanitizer) return;
  constexpr std::size_t page = std::size_t{2} << 20;
  constexpr int large_block = 32 << 20;
  // The heap grows by all of it at once, and keeps it.
  mallopt(M_MMAP_THRESHOLD, large_block);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, static_cast<int>(std::min(bytes, static_cast<std::size_t>(INT_MAX))));
  const auto before = reinterpret_cast<std::uintptr_t>(sbrk(0));
  void* volatile some = std::malloc(large_block - page);  // a compiler would leave out what nobody looks at
  std::free(some);
  const auto after = reinterpret_cast<std::uintptr_t>(sbrk(0));
  mallopt(M_TOP_PAD, large_block);
  const std::uintptr_t first = (before + page - 1) / page * page, last = after / page * page;
  if (last > first) static_cast<void>(madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE));
}
#else
void use_large_pages(std::size_t) {}
#endif

}  // namespace imbrex::detail
