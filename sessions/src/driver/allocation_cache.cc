#include "driver/allocation_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

namespace imbrex::sessions {

namespace {

constexpr std::uint64_t region_size = std::uint64_t{1} << 21;
constexpr std::uint32_t max_in_region = 16384;

// Fibonacci hashing: regions that follow each other, the usual case, fall far apart. Only the high bits are good.
std::uint32_t home_of(std::uint32_t key, std::uint32_t shift) { return key * 2654435769u >> shift; }

void* reserve(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void wait_a_moment() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Readers may look at what is being written; they throw it away then.
template <class T>
T racy(const T& value) {
  return __atomic_load_n(&value, __ATOMIC_RELAXED);
}
template <class T>
void racy_store(T& target, T value) {
  __atomic_store_n(&target, value, __ATOMIC_RELAXED);
}

// A block in words: count, nothing, its size's logarithm, the next free block; then the index (16 bits for each
// bucket), then the entries and one that ends them. A reference to it has its place in lines of 16 words and, from bit
// 24 on, the logarithm of its number of buckets, so that a look-up reads a line of the index and one of the entries.
constexpr std::uint32_t header_words = 4;
constexpr std::uint32_t line_words = 16;
constexpr std::uint32_t covers_bit = 1u << 30;  // of a single record: the whole region is its
constexpr std::uint32_t no_start = ~0u;
std::uint32_t buckets_for(std::uint32_t count) { return std::max(4u, std::bit_ceil(count)); }
std::uint32_t words_for(std::uint32_t count) { return header_words + buckets_for(count) / 2 + 3 * (count + 1); }
std::uint32_t word_of(std::uint32_t ref) { return (ref & 0xFFFFFF) * line_words; }

}  // namespace

struct allocation_cache::sorted_entries {
  std::uint32_t count = 0;
  entry data[max_in_region + 1];
};

namespace {
/// Room for the entries of the region under change; writers take turns.
template <class Entries>
Entries& scratch() {
  static Entries entries;
  return entries;
}
}  // namespace

// Look-ups.

bool allocation_cache::look_in_block(std::uint32_t ref, std::uint32_t offset, hit& found) const {
  const std::uint32_t* words = blocks_ + word_of(ref);
  const std::uint32_t log = ref >> 24 & 15;
  const auto* index = reinterpret_cast<const std::uint16_t*>(words + header_words);
  const std::uint32_t* entries = words + header_words + (1u << log) / 2;
  const std::uint32_t* e = entries + 3 * racy(index[offset >> (region_bits - log)]);
  for (std::uint32_t steps = 0; racy(e[3]) <= offset && steps < max_in_region; ++steps) e += 3;
  found = {true, racy(e[2])};
  return offset >= racy(e[0]) && offset < racy(e[1]);
}

bool allocation_cache::look(std::uint64_t address, hit& found) const {
  const table* t = table_.load(std::memory_order_acquire);
  if (t == nullptr || address >> 48 != 0) return false;
  const auto key = static_cast<std::uint32_t>(address >> region_bits) + 1;
  for (std::uint32_t i = home_of(key, t->shift), tries = 0; tries <= t->mask; ++i, ++tries) {
    const slot& s = t->slots[i & t->mask];
    const std::uint32_t there = s.key.load(std::memory_order_relaxed);
    if (there == 0) return false;
    if (there != key) continue;
    const std::uint32_t ref = s.ref.load(std::memory_order_relaxed);
    if ((ref & single_bit) == 0)
      return look_in_block(ref, static_cast<std::uint32_t>(address) & (region_size - 1), found);
    found = {(ref & covers_bit) != 0, ref & ~(single_bit | covers_bit)};
    return true;
  }
  return false;
}

template <class Read>
allocation_cache::answer allocation_cache::read(std::uint64_t address, Read read_record) const {
  for (int attempt = 0; attempt < 64; ++attempt) {
    const std::uint64_t before = version_.load(std::memory_order_acquire);
    if ((before & 1) != 0) {
      wait_a_moment();
      continue;
    }
    hit h{};
    const bool known = look(address, h) && read_record(h);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (version_.load(std::memory_order_relaxed) == before) return known ? answer::found : answer::unknown_address;
  }
  return answer::unsure;
}

allocation_cache::answer allocation_cache::find(std::uint64_t address, allocation& found) const {
  return read(address, [&](const hit& h) {
    const allocation& record = records_[(h.record >> 2) % max_records];
    found.start = racy(record.start);
    found.end = racy(record.end);
    found.context = racy(record.context);
    found.buffer_id = racy(record.buffer_id);
    found.ordinal = racy(record.ordinal);
    found.memory_type = racy(record.memory_type);
    found.is_managed = racy(record.is_managed);
    found.copies_are_synchronous = racy(record.copies_are_synchronous);
    return address >= found.start && address < found.end;
  });
}

allocation_cache::answer allocation_cache::find_memory_type(std::uint64_t address, int& memory_type) const {
  int type = 0;
  const answer known = read(address, [&](const hit& h) {
    type = static_cast<int>(h.record & 3);
    if (h.exact) return true;
    const allocation& record = records_[(h.record >> 2) % max_records];
    return address >= racy(record.start) && address < racy(record.end);
  });
  memory_type = known == answer::found ? type : 0;
  return known;
}

// Changes; all under the lock.

void allocation_cache::begin_change() {
  version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
}

void allocation_cache::end_change() {
  version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

bool allocation_cache::start() {
  if (records_ == nullptr) records_ = static_cast<allocation*>(reserve(sizeof(allocation) * max_records));
  if (blocks_ == nullptr) {
    blocks_ = static_cast<std::uint32_t*>(reserve(arena_bytes + (1 << 21)));  // who reads what is no more may go beyond
    used_words_ = line_words;
  }
  if (records_ == nullptr || blocks_ == nullptr) return false;
  return table_.load(std::memory_order_relaxed) != nullptr || grow_table(1024);
}

bool allocation_cache::grow_table(std::uint32_t num_slots) {
  const std::size_t bytes = sizeof(table) + num_slots * sizeof(slot);
  auto* made = static_cast<table*>(reserve(bytes));
  if (made == nullptr) return false;
  made->mask = num_slots - 1;
  made->shift = static_cast<std::uint32_t>(std::countl_zero(made->mask));
  const table* old = table_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; old != nullptr && i <= old->mask; ++i) {
    const std::uint32_t key = old->slots[i].key.load(std::memory_order_relaxed);
    if (key == 0) continue;
    std::uint32_t at = home_of(key, made->shift);
    while (made->slots[at].key.load(std::memory_order_relaxed) != 0) at = (at + 1) & made->mask;
    made->slots[at].key.store(key, std::memory_order_relaxed);
    made->slots[at].ref.store(old->slots[i].ref.load(std::memory_order_relaxed), std::memory_order_relaxed);
    ++made->used;
  }
  // A reader may still be in the old one: it stays mapped, its pages go back.
  if (old != nullptr) {
    madvise(const_cast<table*>(old), sizeof(table) + old->mask * sizeof(slot), MADV_DONTNEED);
  }
  table_bytes_ = bytes;
  table_.store(made, std::memory_order_release);
  return true;
}

/// The slot of the region, or the empty one where it belongs.
allocation_cache::slot* allocation_cache::slot_for(std::uint64_t region) {
  table* t = table_.load(std::memory_order_relaxed);
  const auto key = static_cast<std::uint32_t>(region) + 1;
  std::uint32_t i = home_of(key, t->shift);
  while (true) {
    const std::uint32_t there = t->slots[i].key.load(std::memory_order_relaxed);
    if (there == key || there == 0) return &t->slots[i];
    i = (i + 1) & t->mask;
  }
}

/// Without marks of erased slots: those that follow move up.
void allocation_cache::erase_slot(slot* erased) {
  table* t = table_.load(std::memory_order_relaxed);
  auto hole = static_cast<std::uint32_t>(erased - t->slots);
  for (std::uint32_t i = (hole + 1) & t->mask;; i = (i + 1) & t->mask) {
    const std::uint32_t key = t->slots[i].key.load(std::memory_order_relaxed);
    if (key == 0) break;
    const std::uint32_t home = home_of(key, t->shift);
    if (((i - home) & t->mask) < ((i - hole) & t->mask)) continue;
    t->slots[hole].key.store(key, std::memory_order_relaxed);
    t->slots[hole].ref.store(t->slots[i].ref.load(std::memory_order_relaxed), std::memory_order_relaxed);
    hole = i;
  }
  t->slots[hole].key.store(0, std::memory_order_relaxed);
  --t->used;
}

std::uint32_t allocation_cache::take_record(const allocation& made) {
  std::uint32_t record = free_record_;
  if (record != 0) {
    free_record_ = static_cast<std::uint32_t>(records_[record].start);
  } else {
    if (num_records_ + 2 >= max_records) return 0;
    record = ++num_records_;
  }
  allocation& r = records_[record];
  racy_store(r.start, made.start);
  racy_store(r.end, made.end);
  racy_store(r.context, made.context);
  racy_store(r.buffer_id, made.buffer_id);
  racy_store(r.ordinal, made.ordinal);
  racy_store(r.memory_type, made.memory_type);
  racy_store(r.is_managed, made.is_managed);
  racy_store(r.copies_are_synchronous, made.copies_are_synchronous);
  return record;
}

/// Sizes by eighths of a power of two would waste less; blocks live short enough for powers of two.
std::uint32_t allocation_cache::take_block(std::uint32_t words) {
  const auto log = std::max(4u, static_cast<std::uint32_t>(std::bit_width(words - 1)));
  std::uint32_t ref = free_blocks_[log];
  if (ref != 0) {
    free_blocks_[log] = blocks_[ref + 3];
  } else {
    if ((std::size_t{used_words_} + (1u << log)) * sizeof(std::uint32_t) > arena_bytes) return 0;
    ref = used_words_;
    used_words_ += 1u << log;
  }
  racy_store(blocks_[ref + 2], log);
  return ref;
}

void allocation_cache::give_block(std::uint32_t word) {
  const std::uint32_t log = blocks_[word + 2];
  racy_store(blocks_[word + 3], free_blocks_[log]);
  free_blocks_[log] = word;
}

void allocation_cache::entries_of(const slot& s, std::uint64_t region, sorted_entries& all) const {
  all.count = 0;
  if (s.key.load(std::memory_order_relaxed) == 0) return;
  const std::uint32_t ref = s.ref.load(std::memory_order_relaxed);
  if ((ref & single_bit) != 0) {
    const std::uint32_t record = ref & ~(single_bit | covers_bit);
    const allocation& r = records_[record >> 2];
    const std::uint64_t base = region << region_bits;
    all.data[all.count++] = {static_cast<std::uint32_t>(std::max(r.start, base) - base),
                             static_cast<std::uint32_t>(std::min(r.end, base + region_size) - base), record};
    return;
  }
  const std::uint32_t* words = blocks_ + word_of(ref);
  all.count = words[0];
  std::memcpy(all.data, words + header_words + buckets_for(words[0]) / 2, all.count * sizeof(entry));
}

void allocation_cache::fill_block(std::uint32_t word, const sorted_entries& all) {
  std::uint32_t* words = blocks_ + word;
  const std::uint32_t buckets = buckets_for(all.count);
  const int shift = region_bits - std::countr_zero(buckets);
  racy_store(words[0], all.count);
  auto* index = reinterpret_cast<std::uint16_t*>(words + header_words);
  std::uint32_t i = 0;
  for (std::uint32_t bucket = 0; bucket < buckets; ++bucket) {
    while (i + 1 < all.count && all.data[i + 1].start <= bucket << shift) ++i;
    racy_store(index[bucket], static_cast<std::uint16_t>(i));
  }
  std::uint32_t* entries = words + header_words + buckets / 2;
  for (std::uint32_t e = 0; e < all.count; ++e) {
    racy_store(entries[3 * e], all.data[e].start);
    racy_store(entries[3 * e + 1], all.data[e].end);
    racy_store(entries[3 * e + 2], all.data[e].record);
  }
  racy_store(entries[3 * all.count], no_start);
}

bool allocation_cache::put_entries(std::uint64_t region, slot* s, const sorted_entries& all) {
  const bool had_block =
      s->key.load(std::memory_order_relaxed) != 0 && (s->ref.load(std::memory_order_relaxed) & single_bit) == 0;
  const std::uint32_t old = had_block ? word_of(s->ref.load(std::memory_order_relaxed)) : 0;
  std::uint32_t ref = 0;
  if (all.count == 1) {
    const bool covers = all.data[0].start == 0 && all.data[0].end == region_size;
    ref = all.data[0].record | single_bit | (covers ? covers_bit : 0);
  } else if (all.count > 1) {
    const std::uint32_t word = take_block(words_for(all.count));
    if (word == 0) return false;
    fill_block(word, all);
    ref = word / line_words | static_cast<std::uint32_t>(std::countr_zero(buckets_for(all.count))) << 24;
  }
  if (old != 0) give_block(old);
  if (all.count == 0) {
    if (s->key.load(std::memory_order_relaxed) != 0) erase_slot(s);
    return true;
  }
  table* t = table_.load(std::memory_order_relaxed);
  t->used += s->key.load(std::memory_order_relaxed) == 0 ? 1 : 0;
  s->ref.store(ref, std::memory_order_relaxed);
  s->key.store(static_cast<std::uint32_t>(region) + 1, std::memory_order_relaxed);
  return true;
}

bool allocation_cache::add_to_region(std::uint64_t region, std::uint32_t record) {
  const table* t = table_.load(std::memory_order_relaxed);
  if (t->used * 2 > t->mask && !grow_table((t->mask + 1) * 2)) return false;
  slot* s = slot_for(region);
  auto& all = scratch<sorted_entries>();
  entries_of(*s, region, all);
  if (all.count == max_in_region) return false;
  const allocation& r = records_[record >> 2];
  const std::uint64_t base = region << region_bits;
  const entry made = {static_cast<std::uint32_t>(std::max(r.start, base) - base),
                      static_cast<std::uint32_t>(std::min(r.end, base + region_size) - base), record};
  entry* end = all.data + all.count;
  entry* at = std::upper_bound(all.data, end, made, [](const entry& a, const entry& b) { return a.start < b.start; });
  std::memmove(at + 1, at, static_cast<std::size_t>(end - at) * sizeof(entry));
  *at = made;
  ++all.count;
  return put_entries(region, s, all);
}

void allocation_cache::drop_from_region(std::uint64_t region, std::uint32_t record) {
  slot* s = slot_for(region);
  auto& all = scratch<sorted_entries>();
  entries_of(*s, region, all);
  entry* end = std::remove_if(all.data, all.data + all.count, [&](const entry& e) { return e.record == record; });
  all.count = static_cast<std::uint32_t>(end - all.data);
  put_entries(region, s, all);  // not larger than before: there is room
}

void allocation_cache::drop_record(std::uint32_t record) {
  const allocation r = records_[record >> 2];
  for (std::uint64_t region = r.start >> region_bits; region <= (r.end - 1) >> region_bits; ++region) {
    drop_from_region(region, record);
  }
  racy_store(records_[record >> 2].start, std::uint64_t{free_record_});
  racy_store(records_[record >> 2].end, std::uint64_t{0});
  free_record_ = record >> 2;
  size_.fetch_sub(1, std::memory_order_relaxed);
}

void allocation_cache::erase_overlapping_locked(std::uint64_t start, std::uint64_t end) {
  for (std::uint64_t region = start >> region_bits; region <= (end - 1) >> region_bits; ++region) {
    auto& all = scratch<sorted_entries>();
    const std::uint64_t base = region << region_bits;
    for (bool again = true; again;) {
      again = false;
      entries_of(*slot_for(region), region, all);
      for (std::uint32_t i = 0; i < all.count && !again; ++i) {
        if (base + all.data[i].end <= start || base + all.data[i].start >= end) continue;
        drop_record(all.data[i].record);
        again = true;
      }
    }
  }
}

bool allocation_cache::insert_locked(const allocation& made) {
  if (!start() || made.end <= made.start || made.end >> 48 != 0) return false;
  erase_overlapping_locked(made.start, made.end);
  const std::uint32_t taken = take_record(made);
  if (taken == 0) return false;
  const std::uint32_t record = taken << 2 | (made.memory_type & 3u);
  size_.fetch_add(1, std::memory_order_relaxed);
  for (std::uint64_t region = made.start >> region_bits; region <= (made.end - 1) >> region_bits; ++region) {
    if (add_to_region(region, record)) continue;
    drop_record(record);
    return false;
  }
  return true;
}

bool allocation_cache::insert(const allocation& made) {
  pthread_mutex_lock(&writers_);
  begin_change();
  const bool kept = insert_locked(made);
  end_change();
  pthread_mutex_unlock(&writers_);
  return kept;
}

bool allocation_cache::record_at(std::uint64_t start, std::uint32_t& record) const {
  hit h{};
  if (!look(start, h) || records_[h.record >> 2].start != start) return false;
  record = h.record;
  return true;
}

bool allocation_cache::erase(std::uint64_t start) {
  pthread_mutex_lock(&writers_);
  std::uint32_t record = 0;
  const bool known = record_at(start, record);
  if (known) {
    begin_change();
    drop_record(record);
    end_change();
  }
  pthread_mutex_unlock(&writers_);
  return known;
}

void allocation_cache::erase_overlapping(std::uint64_t start, std::uint64_t end) {
  pthread_mutex_lock(&writers_);
  if (table_.load(std::memory_order_relaxed) != nullptr && end > start) {
    begin_change();
    erase_overlapping_locked(start, end);
    end_change();
  }
  pthread_mutex_unlock(&writers_);
}

void allocation_cache::clear() {
  pthread_mutex_lock(&writers_);
  begin_change();
  table* t = table_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; t != nullptr && i <= t->mask; ++i) t->slots[i].key.store(0, std::memory_order_relaxed);
  if (t != nullptr) t->used = 0;
  num_records_ = free_record_ = 0;
  used_words_ = line_words;
  std::fill(std::begin(free_blocks_), std::end(free_blocks_), 0u);
  size_ = 0;
  end_change();
  pthread_mutex_unlock(&writers_);
}

std::size_t allocation_cache::bytes() const {
  return table_bytes_ + std::size_t{used_words_} * sizeof(std::uint32_t) + (num_records_ + 1) * sizeof(allocation);
}

}  // namespace imbrex::sessions
