#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "imbrex/object/collection/chare_pe.h"
#include "imbrex/object/state/saved_state.h"

/// What one PE has of a job, as records of a checkpoint (snapshot_writer.h). Taken when all is quiet: no message is on
/// its way, and coroutines of chares wait at points alone.
namespace imbrex {

/// The kinds of records. Keys and payloads are written by `to_bytes`.
enum class record_kind : std::uint32_t {
  program,          ///< no key; the object that `run` started
  readonly_values,  ///< no key; all read-only globals
  numbers,          ///< no key; `pe_numbers_record`: one of each PE
  array,            ///< key: id; payload: `collection_recipe`. By PE 0
  element,          ///< key: `element_key`; payload: its state
  ended,            ///< key: `element_key`; no payload. By its home
  section,          ///< key: `section_key`; payload: indices of members that are at home on the PE that wrote it
  freed_section,    ///< key: `section_key`; no payload
  balancing,        ///< no key; what the balancer has learnt. By PE 0, where there is one
};
/// In their order.
std::vector<std::string> record_kind_names();

/// One record of a checkpoint: what it is, of what, and its bytes or where they are.
struct snapshot_record {
  record_kind kind{};
  std::vector<std::byte> key;
  saved_state payload;
};

/// Which element a record is of: part of its key in the file.
struct element_key {
  collection_id array;
  pe_id where = no_pe;
  std::uint64_t epoch = 0;
  std::vector<std::byte> index;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & where & epoch & index;
  }
};

/// Which section a record is of.
struct section_key {
  collection_id array;
  section_id section;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & section;
  }
};

/// What may be named next without naming anything twice: collections and sections of this PE, singletons of any class.
struct pe_numbers_record {
  std::uint32_t collections = 0;
  std::uint32_t sections = 0;
  std::uint64_t singles = 0;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & collections & sections & singles;
  }
};

/// Of all that lives on `pe`. Throws `usage_error` when something is under way that would be lost, naming it, or when
/// the class of an element cannot be serialised.
std::vector<snapshot_record> take_snapshot(chare_pe& pe, device_saver& saver);

}  // namespace imbrex
