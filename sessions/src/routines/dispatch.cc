#include "routines/dispatch.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "base/settings.h"
#include "routines/symbols.h"
#include "routines/trampolines.h"

namespace imbrex::sessions {

extern unsigned modes_in_use __attribute__((visibility("hidden")));  // library.cc

#ifdef IMBREX_SESSIONS_OPENMPI
namespace openmpi {
extern const binding this_binding;
}
#endif
#ifdef IMBREX_SESSIONS_MPICH
namespace mpich {
extern const binding this_binding;
}
#endif

void* real_routines[num_routines];

namespace {

constexpr const binding* bindings[] = {
#ifdef IMBREX_SESSIONS_OPENMPI
    &openmpi::this_binding,
#endif
#ifdef IMBREX_SESSIONS_MPICH
    &mpich::this_binding,
#endif
    nullptr};

char version[8192];
void* mpi_library = nullptr;
pthread_mutex_t binding_now = PTHREAD_MUTEX_INITIALIZER;
std::atomic<bool> bound{false};

/// Tools between this library and the MPI come first (they may define PMPI_X too), then the MPI itself, which need not
/// be visible to all (Python loads it so).
void* find_in_mpi(const char* symbol) {
  // Variables, which Open MPI's handles are, may have been copied into the program: there the MPI finds them too.
  const bool is_routine = std::strncmp(symbol, "PMPI", 4) == 0;  // PMPI_X, PMPIX_X
  void* found = is_routine ? next_symbol(symbol) : symbol_in(RTLD_DEFAULT, symbol);
  return found == nullptr && mpi_library != nullptr ? symbol_in(mpi_library, symbol) : found;
}

/// Where the object that has this code or variable was loaded, and its name.
Dl_info object_of(const void* address) {
  Dl_info info = {};
  if (address == nullptr || dladdr(address, &info) == 0) info = {};
  return info;
}

/// An MPI's own library. Some keep MPI_X and PMPI_X in different ones.
bool is_mpi_library(const Dl_info& object, const void* mpi_base) {
  if (object.dli_fbase == mpi_base) return true;
  const char* slash = std::strrchr(object.dli_fname, '/');
  const char* name = slash == nullptr ? object.dli_fname : slash + 1;
  return std::strncmp(name, "libmpi.so", 9) == 0 || std::strncmp(name, "libmpich.so", 11) == 0 ||
         std::strncmp(name, "libmpi_", 7) == 0;
}

/// A tool that comes after this library in the order of symbols defines MPI_X itself, and calls PMPI_X, as MPI's
/// profiling interface has it. Null where there is none.
void* tool_routine(const char* mpi_name, const void* mpi_base) {
  void* found = next_symbol(mpi_name);
  if (found == nullptr) return nullptr;
  const Dl_info object = object_of(found);
  return object.dli_fname == nullptr || is_mpi_library(object, mpi_base) ? nullptr : found;
}

int look_for_mpi(dl_phdr_info* object, std::size_t, void*) {
  if (object->dlpi_name == nullptr || std::strstr(object->dlpi_name, "libmpi") == nullptr) return 0;
  void* library = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return 0;
  if (symbol_in(library, "PMPI_Get_library_version") != nullptr) mpi_library = library;
  return mpi_library != nullptr ? 1 : 0;
}

/// Handles as MPI 5 fixes them, which no binding here has, whoever made the library.
bool has_standard_abi() {
  auto* ask = reinterpret_cast<int (*)(int*, int*)>(find_in_mpi("PMPI_Abi_get_version"));
  int major = -1;
  int minor = -1;
  return ask != nullptr && ask(&major, &minor) == 0 && major >= 1;
}

/// What the library does with an MPI that it cannot see into.
void stay_idle(const char* why) {
  char modes[64];
  describe_modes(current_settings().modes, modes, sizeof modes);
  complain(
      "%s (%s), so the library stays idle: MPI calls go on unchanged, IMBREX_SESSIONS=%s has no effect, and no "
      "report is written; it was built for %s",
      why, version, modes, IMBREX_SESSIONS_BUILT_FOR);
  __atomic_store_n(&modes_in_use, 0u, __ATOMIC_RELAXED);
}

const binding* choose_binding() {
  void* get_version = find_in_mpi("PMPI_Get_library_version");
  if (get_version == nullptr) {
    dl_iterate_phdr(&look_for_mpi, nullptr);
    get_version = find_in_mpi("PMPI_Get_library_version");
  }
  if (get_version == nullptr) return nullptr;
  int length = 0;
  reinterpret_cast<int (*)(char*, int*)>(get_version)(version, &length);
  version[std::strcspn(version, "\n")] = '\0';
  if (has_standard_abi()) return nullptr;
  for (const binding* const* b = bindings; *b != nullptr; ++b) {
    if ((*b)->matches(version)) return *b;
  }
  return nullptr;
}

/// Only a call reaches this: the program linked it, but its MPI does not carry it.
int missing_routine() { give_up("the program called an MPI routine that its MPI (%s) does not have", version); }

bool had_another_name(const char* mpi_name) {
#define IX_FORMER(name) \
  if (std::strcmp(mpi_name, "MPI_" #name) == 0) return true;
#include "routines/former_names.def"
#undef IX_FORMER
  return false;
}

void find_real_routines() {
  char name[128];
  for (int i = 0; i < num_routines; ++i) {
    std::snprintf(name, sizeof name, "P%s", name_of(static_cast<routine_id>(i)));
    real_routines[i] = find_in_mpi(name);
    if (real_routines[i] != nullptr || !had_another_name(name + 1)) continue;
    std::snprintf(name, sizeof name, "PMPIX_%s", name_of(static_cast<routine_id>(i)) + 4);
    real_routines[i] = find_in_mpi(name);
  }
}

const binding* start_binding() {
  const binding* chosen = choose_binding();
  find_real_routines();
  complain_of_what_is_lost();
  if (current_settings().modes == 0) return nullptr;
  if (chosen == nullptr) {
    stay_idle(has_standard_abi() ? "this MPI has the standard ABI of MPI 5, which the library does not know"
                                 : "this MPI is not known");
    return nullptr;
  }
  if (const char* missing = chosen->start(&find_in_mpi)) {
    char why[128];
    std::snprintf(why, sizeof why, "this MPI has no %s", missing);
    stay_idle(why);
    return nullptr;
  }
  return chosen;
}

void set_slots(const binding* chosen) {
  const void* const mpi_base = object_of(find_in_mpi("PMPI_Init")).dli_fbase;
  for (int i = 0; i < num_routines; ++i) {
    void* target = chosen == nullptr ? nullptr : chosen->wrappers[i];
    if (real_routines[i] == nullptr) {
      target = reinterpret_cast<void*>(&missing_routine);
    } else if (target == nullptr) {
      target = real_routines[i];
    }
    void* tool = tool_routine(name_of(static_cast<routine_id>(i)), mpi_base);
    __atomic_store_n(&imbrex_sessions_slots[i].by_profiling_name, target, __ATOMIC_RELEASE);
    __atomic_store_n(&imbrex_sessions_slots[i].by_name, tool == nullptr ? target : tool, __ATOMIC_RELEASE);
  }
}

}  // namespace

void bind_mpi(routine_id first) {
  pthread_mutex_lock(&binding_now);
  if (!bound.load(std::memory_order_relaxed)) {
    set_slots(start_binding());
    bound.store(true, std::memory_order_release);
  }
  pthread_mutex_unlock(&binding_now);
  if (real_routines[first] == nullptr) {
    give_up("%s was called, but no MPI with such a routine is loaded (%s); link the program with its MPI",
            name_of(first), version[0] == '\0' ? "there is none" : version);
  }
}

const char* mpi_version() { return version; }

}  // namespace imbrex::sessions
