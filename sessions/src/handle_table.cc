#include "handle_table.h"

#include <cstdlib>

#include "settings.h"

namespace imbrex::sessions {

handle_table declarations;

handle_table::entries* handle_table::make(std::uintptr_t size) {
  auto* table = static_cast<entries*>(std::calloc(1, sizeof(entries) + size * sizeof(entry)));
  if (table == nullptr) give_up("no memory for the declarations of %zu handles", static_cast<std::size_t>(size));
  table->mask = size - 1;
  return table;
}

handle_table::entry* handle_table::place_for(entries* table, std::uintptr_t handle) {
  for (std::uintptr_t i = slot_of(handle, table->mask);; i = (i + 1) & table->mask) {
    const std::uintptr_t key = table->data[i].key.load(std::memory_order_relaxed);
    if (key == handle || key == never_used) return &table->data[i];
  }
}

/// A table at most half full. One that is replaced stays, for those who look into it: together they are smaller than
/// the one in use, unless many handles come and go.
handle_table::entries* handle_table::with_room() {
  entries* old = entries_.load(std::memory_order_relaxed);
  if (old != nullptr && old->used * 2 <= old->mask) return old;
  std::uintptr_t live = 0;
  for (std::uintptr_t i = 0; old != nullptr && i <= old->mask; ++i) live += old->data[i].key > erased ? 1 : 0;
  std::uintptr_t size = 64;
  while (size < 4 * live) size *= 2;
  entries* made = make(size);
  for (std::uintptr_t i = 0; old != nullptr && i <= old->mask; ++i) {
    const std::uintptr_t key = old->data[i].key;
    if (key <= erased) continue;
    entry* place = place_for(made, key);
    place->value = old->data[i].value.load();
    place->key = key;
    ++made->used;
  }
  entries_.store(made, std::memory_order_release);
  return made;
}

void handle_table::set(std::uintptr_t handle, const declaration& said) {
  pthread_mutex_lock(&writers_);
  entries* table = entries_.load(std::memory_order_relaxed);
  if (!said.empty()) table = with_room();
  if (table != nullptr) {
    entry* place = place_for(table, handle);
    const bool known = place->key.load(std::memory_order_relaxed) == handle;
    if (said.empty() && known) {
      place->value.store(0, std::memory_order_relaxed);
      place->key.store(erased, std::memory_order_release);
    } else if (!said.empty()) {
      place->value.store(said.packed(), std::memory_order_relaxed);
      table->used += known ? 0 : 1;
      place->key.store(handle, std::memory_order_release);
    }
  }
  pthread_mutex_unlock(&writers_);
}

}  // namespace imbrex::sessions
