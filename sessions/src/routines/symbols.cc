#include "routines/symbols.h"

#include <dlfcn.h>
#include <initializer_list>

#include "base/settings.h"

extern "C" {
/// glibc's dlsym; the trampoline in driver_symbols.cc jumps to it.
void* imbrex_sessions_real_dlsym __attribute__((visibility("hidden"))) = nullptr;
}

namespace imbrex::sessions {

namespace {

using dlsym_type = void* (*)(void*, const char*);

dlsym_type real_dlsym() {
  void* known = __atomic_load_n(&imbrex_sessions_real_dlsym, __ATOMIC_ACQUIRE);
  if (known == nullptr) {
    for (const char* release : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"}) {
      known = dlvsym(RTLD_NEXT, "dlsym", release);
      if (known != nullptr) break;
    }
    if (known == nullptr) give_up("dlsym of the C library was not found; this is a glibc that is not known");
    __atomic_store_n(&imbrex_sessions_real_dlsym, known, __ATOMIC_RELEASE);
  }
  return reinterpret_cast<dlsym_type>(known);
}

}  // namespace

void* symbol_in(void* library, const char* name) { return real_dlsym()(library, name); }

void* next_symbol(const char* name) { return real_dlsym()(RTLD_NEXT, name); }

}  // namespace imbrex::sessions
