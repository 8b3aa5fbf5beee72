#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "imbrex/checkpoint/live/checkpointer.h"
#include "imbrex/checkpoint/live/tree_call.h"

/// What PE 0 asks of all PEs for a checkpoint, by `on_all_pes`.
namespace imbrex {

struct take_request {
  using result = std::monostate;
  static constexpr const char* name = "taking a checkpoint";
  task<result> on_pe(chare_pe& pe) {
    auto taken = checkpointer::of(pe).take();
    co_await taken;
    co_return std::monostate{};
  }
  template <class Archive>
  void serialize(Archive&) {}
};

struct drop_request {
  using result = std::monostate;
  static constexpr const char* name = "giving up a checkpoint";
  task<result> on_pe(chare_pe& pe) {
    checkpointer::of(pe).drop();
    co_return std::monostate{};
  }
  template <class Archive>
  void serialize(Archive&) {}
};

struct write_request {
  using result = rank_file_facts;
  static constexpr const char* name = "writing a checkpoint";
  std::string folder;
  std::uint64_t number = 0;
  task<result> on_pe(chare_pe& pe) {
    if (pe.id() != pe.rank().first_pe()) co_return rank_file_facts{.rank = -1, .kinds = {}};
    auto written = checkpointer::of(pe).write(folder, number);
    co_return co_await written;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & folder & number;
  }
};

struct keep_request {
  using result = rank_file_facts;
  static constexpr const char* name = "keeping a checkpoint in memory";
  std::uint64_t number = 0;
  snapshot_facts facts;
  task<result> on_pe(chare_pe& pe) {
    if (pe.id() != pe.rank().first_pe()) co_return rank_file_facts{.rank = -1, .kinds = {}};
    auto kept = checkpointer::of(pe).keep(number, facts);
    co_return co_await kept;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & number & facts;
  }
};

struct protect_request {
  using result = std::monostate;
  static constexpr const char* name = "protecting a checkpoint in memory";
  std::uint64_t number = 0;
  std::vector<rank_file_facts> files;  // by rank
  task<result> on_pe(chare_pe& pe) {
    if (pe.id() == pe.rank().first_pe()) {
      auto is_safe = checkpointer::of(pe).protect(number, files);
      co_await is_safe;
    }
    co_return std::monostate{};
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & number & files;
  }
};

/// All ranks have it, or it is given up.
struct commit_request {
  using result = std::monostate;
  static constexpr const char* name = "committing a checkpoint in memory";
  std::uint64_t number = 0;
  bool is_whole = false;
  task<result> on_pe(chare_pe& pe) {
    if (pe.id() == pe.rank().first_pe()) {
      rank_memory& memory = *checkpointer::of(pe).memory();
      is_whole ? memory.store.commit(number) : memory.store.drop(number);
      memory.forget_contents();
    }
    co_return std::monostate{};
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & number & is_whole;
  }
};

/// The next run of the job has so many PEs of each rank.
struct next_pes_request {
  using result = std::monostate;
  static constexpr const char* name = "changing the number of PEs";
  int pes = 0;
  task<result> on_pe(chare_pe& pe) {
    if (pe.id() == pe.rank().first_pe()) checkpointer::of(pe).memory()->next_pes = pes;
    co_return std::monostate{};
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & pes;
  }
};

struct forget_request {
  using result = std::monostate;
  static constexpr const char* name = "forgetting a checkpoint in memory";
  task<result> on_pe(chare_pe& pe) {
    if (pe.id() == pe.rank().first_pe()) {
      checkpointer::of(pe).memory()->store.keep_only(0);
      checkpointer::of(pe).memory()->forget_contents();
    }
    co_return std::monostate{};
  }
  template <class Archive>
  void serialize(Archive&) {}
};

}  // namespace imbrex
