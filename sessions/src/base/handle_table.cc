#include "base/handle_table.h"

#include <cstdlib>

#include "base/settings.h"

namespace imbrex::sessions {

handle_table declarations;

handle_table::entries* handle_table::make(std::uintptr_t size) {
  auto* table = static_cast<entries*>(std::calloc(1, sizeof(entries) + size * sizeof(entry)));
  if (table == nullptr) give_up("no memory for the declarations of %zu handles", static_cast<std::size_t>(size));
  table->mask = size - 1;
  return table;
}

/// Where the handle is, or else where it may go.
handle_table::entry* handle_table::place_for(entries* table, std::uintptr_t handle) {
  entry* free = nullptr;
  for (std::uintptr_t i = slot_of(handle, table->mask);; i = (i + 1) & table->mask) {
    entry* here = &table->data[i];
    const std::uintptr_t key = here->key.load(std::memory_order_relaxed);
    if (key == handle) return here;
    if (key == erased && free == nullptr) free = here;
    if (key == never_used) return free == nullptr ? here : free;
  }
}

/// A table at most half full, erased places included. One that is replaced stays, for those who look into it; the next
/// is larger, so that together they are smaller than the one in use. Where handles come and go, erased places gather
/// before those that stay: filling half of a table takes about the square of its size in handles.
handle_table::entries* handle_table::with_room() {
  entries* old = entries_.load(std::memory_order_relaxed);
  if (old != nullptr && old->used * 2 <= old->mask) return old;
  std::uintptr_t live = 0;
  for (std::uintptr_t i = 0; old != nullptr && i <= old->mask; ++i) live += old->data[i].key > erased ? 1 : 0;
  std::uintptr_t size = 64;
  while (size < 4 * live || (old != nullptr && size <= old->mask + 1)) size *= 2;
  entries* made = make(size);
  for (std::uintptr_t i = 0; old != nullptr && i <= old->mask; ++i) {
    const std::uintptr_t key = old->data[i].key;
    if (key <= erased) continue;
    entry* place = place_for(made, key);
    place->value = old->data[i].value.load();
    place->key = key;
    ++made->used;
  }
  made->replaced = old;
  entries_.store(made, std::memory_order_release);
  return made;
}

/// Look-ups go on past an erased place only where something may follow it.
void handle_table::erase_at(entries* table, entry* place) {
  place->value.store(0, std::memory_order_relaxed);
  place->key.store(erased, std::memory_order_release);
  auto i = static_cast<std::uintptr_t>(place - table->data);
  if (table->data[(i + 1) & table->mask].key.load(std::memory_order_relaxed) != never_used) return;
  for (; table->data[i].key.load(std::memory_order_relaxed) == erased; i = (i - 1) & table->mask) {
    table->data[i].key.store(never_used, std::memory_order_relaxed);
    --table->used;
  }
}

std::size_t handle_table::bytes() const {
  std::size_t sum = 0;
  for (const entries* t = entries_.load(std::memory_order_acquire); t != nullptr; t = t->replaced) {
    sum += sizeof(entries) + (t->mask + 1) * sizeof(entry);
  }
  return sum;
}

void handle_table::set(std::uintptr_t handle, const declaration& said) {
  pthread_mutex_lock(&writers_);
  entries* table = entries_.load(std::memory_order_relaxed);
  if (!said.unsaid()) table = with_room();
  if (table != nullptr) {
    entry* place = place_for(table, handle);
    const bool known = place->key.load(std::memory_order_relaxed) == handle;
    if (said.unsaid() && known) {
      erase_at(table, place);
    } else if (!said.unsaid()) {
      place->value.store(said.packed(), std::memory_order_relaxed);
      table->used += place->key.load(std::memory_order_relaxed) == never_used ? 1 : 0;
      place->key.store(handle, std::memory_order_release);
    }
  }
  pthread_mutex_unlock(&writers_);
}

}  // namespace imbrex::sessions
