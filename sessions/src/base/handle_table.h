// What was declared of MPI handles: from a handle's value to a declaration. Look-ups take no lock; they may run beside
// declarations of other handles. Handles of all kinds share the table: their values differ in both MPIs.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/declaration.h"

namespace imbrex::sessions {

class handle_table {
 public:
  constexpr handle_table() = default;

  /// An empty declaration for a handle that was not declared.
  declaration find(std::uintptr_t handle) const {
    const entries* table = entries_.load(std::memory_order_acquire);
    if (table == nullptr) return {};
    for (std::uintptr_t i = slot_of(handle, table->mask);; i = (i + 1) & table->mask) {
      const std::uintptr_t key = table->data[i].key.load(std::memory_order_acquire);
      if (key == handle) return declaration::unpacked(table->data[i].value.load(std::memory_order_relaxed));
      if (key == never_used) return {};
    }
  }

  /// A declaration that says nothing forgets the handle.
  void set(std::uintptr_t handle, const declaration& said);
  void erase(std::uintptr_t handle) { set(handle, {}); }
  /// Finds and forgets: before the handle is freed, since the MPI may give it out again, to any thread, right then.
  declaration take(std::uintptr_t handle) {
    const declaration said = find(handle);
    if (!said.unsaid()) erase(handle);
    return said;
  }

  /// Memory in use, that of replaced tables included. Not beside changes.
  std::size_t bytes() const;

 private:
  static constexpr std::uintptr_t never_used = 0, erased = 1;
  struct entry {
    std::atomic<std::uintptr_t> key;
    std::atomic<std::uint8_t> value;
  };
  struct entries {
    std::uintptr_t mask;
    std::uintptr_t used;  ///< erased ones included
    entries* replaced;    ///< smaller ones, one after another
    entry data[1];        ///< mask + 1 of them
  };

  static std::uintptr_t slot_of(std::uintptr_t handle, std::uintptr_t mask) {
    return (handle * 0x9E3779B97F4A7C15u >> 32) & mask;
  }
  static entries* make(std::uintptr_t size);
  static entry* place_for(entries* table, std::uintptr_t handle);
  static void erase_at(entries* table, entry* place);
  entries* with_room();

  std::atomic<entries*> entries_{nullptr};
  pthread_mutex_t writers_ = PTHREAD_MUTEX_INITIALIZER;
};

/// That of the process.
extern handle_table declarations __attribute__((visibility("hidden")));

}  // namespace imbrex::sessions
