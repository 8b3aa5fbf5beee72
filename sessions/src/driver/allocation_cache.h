// Which memory the driver knows, by address: everything that was allocated on a device, allocated as pinned or managed
// memory, registered or mapped, with what the driver said of it then. Look-ups take no lock and write nothing, so
// threads do not disturb each other; changes are made under a lock, one at a time.
//
// Addresses fall into regions of 2 MiB. A hash table leads from a region to its only allocation, or to a block: the
// allocations of the region in order of their addresses, and an index that leads to about the right one. A change makes
// a new block. Readers see by a version number that a change went on meanwhile, and look again; the memory that they
// read stays mapped for ever, whatever it is used for by then.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace imbrex::sessions {

/// What the driver says of a live allocation.
struct allocation {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t context = 0;
  std::uint64_t buffer_id = 0;
  std::int32_t ordinal = 0;
  std::uint8_t memory_type = 0;  ///< CUmemorytype: 1 host, 2 device
  std::uint8_t is_managed = 0;
  std::uint8_t copies_are_synchronous = 0;  ///< by our doing: those that a program calls are over when they return
};

class allocation_cache {
 public:
  enum class answer { unknown_address, found, unsure };

  constexpr allocation_cache() = default;
  allocation_cache(const allocation_cache&) = delete;
  allocation_cache& operator=(const allocation_cache&) = delete;

  /// Fills `found` for an address in a live allocation. `unsure` when changes never let it look: ask the driver.
  answer find(std::uint64_t address, allocation& found) const;

  /// The memory type alone, which costs less; 0 with any answer but `found`.
  answer find_memory_type(std::uint64_t address, int& memory_type) const;

  /// False when there is no memory to keep it: from then on the cache does not know all.
  bool insert(const allocation& made);

  /// Forgets the allocation that begins at `start`. False when none does.
  bool erase(std::uint64_t start);

  /// Forgets all that overlap [start, end).
  void erase_overlapping(std::uint64_t start, std::uint64_t end);

  void clear();

  /// Whether nothing was ever kept here, also not by a change under way.
  bool is_unused() const { return table_.load(std::memory_order_acquire) == nullptr; }

  std::size_t size() const { return size_.load(std::memory_order_relaxed); }

  /// Memory in use, that of replaced tables included.
  std::size_t bytes() const;

 private:
  struct slot {                      ///< of the hash table
    std::atomic<std::uint32_t> key;  ///< region + 1, or 0
    std::atomic<std::uint32_t> ref;  ///< a record with single_bit, or a block
  };
  struct table {
    std::uint32_t mask;
    std::uint32_t shift;  ///< of a key's hash, to its home
    std::uint32_t used;
    slot slots[1];
  };
  struct entry {  ///< of a block; offsets within the region, `end` at most its size
    std::uint32_t start, end, record;
  };
  struct hit {
    bool exact;            ///< the record need not be asked whether it contains the address
    std::uint32_t record;  ///< with the memory type in its lowest two bits
  };
  struct sorted_entries;

  static constexpr int region_bits = 21;
  static constexpr std::uint32_t single_bit = 1u << 31;
  static constexpr std::uint32_t max_records = 1u << 24;
  static constexpr std::size_t arena_bytes = std::size_t{1} << 30;

  template <class Read>
  answer read(std::uint64_t address, Read read_record) const;
  bool look(std::uint64_t address, hit& found) const;
  bool look_in_block(std::uint32_t ref, std::uint32_t offset, hit& found) const;

  bool start();
  bool grow_table(std::uint32_t slots);
  slot* slot_for(std::uint64_t region);
  void erase_slot(slot* erased);
  std::uint32_t take_record(const allocation& made);
  std::uint32_t take_block(std::uint32_t words);
  void give_block(std::uint32_t word);
  void fill_block(std::uint32_t word, const sorted_entries& all);
  void entries_of(const slot& s, std::uint64_t region, sorted_entries& all) const;
  bool put_entries(std::uint64_t region, slot* s, const sorted_entries& all);
  bool add_to_region(std::uint64_t region, std::uint32_t record);
  void drop_from_region(std::uint64_t region, std::uint32_t record);
  void drop_record(std::uint32_t record);
  bool insert_locked(const allocation& made);
  void erase_overlapping_locked(std::uint64_t start, std::uint64_t end);
  bool record_at(std::uint64_t start, std::uint32_t& record) const;
  void begin_change();
  void end_change();

  std::atomic<std::uint64_t> version_{0};  ///< odd during a change
  std::atomic<table*> table_{nullptr};
  allocation* records_ = nullptr;    ///< max_records of them reserved
  std::uint32_t* blocks_ = nullptr;  ///< arena_bytes reserved
  std::atomic<std::size_t> size_{0};
  std::uint32_t num_records_ = 0;
  std::uint32_t free_record_ = 0;  ///< 0: none; records are numbered from 1
  std::uint32_t used_words_ = 0;
  std::uint32_t free_blocks_[32] = {};  ///< by logarithm of their words
  std::size_t table_bytes_ = 0;
  pthread_mutex_t writers_ = PTHREAD_MUTEX_INITIALIZER;
};

}  // namespace imbrex::sessions
