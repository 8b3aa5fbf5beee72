#pragma once

#include <map>
#include <utility>

#include "imbrex/checkpoint/live/record_source.h"
#include "imbrex/checkpoint/memory/rank_memory.h"

namespace imbrex {

/// From any PE, before any reads records of it: ranks restore the parts of those that are lost, and every rank is told
/// what all parts have. Throws `snapshot_error`, `checkpoint_error`.
task<> ready_memory();

/// The records of the checkpoint in memory that this run begins with: this rank's are read where they are, others'
/// brought by messages.
class memory_records final : public record_source {
 public:
  memory_records(chare_pe& pe, rank_memory& memory) : pe_(pe), memory_(memory) {}

  const snapshot_facts& facts() const override { return memory_.plan.facts; }
  int num_files() const override { return static_cast<int>(memory_.records.size()); }
  std::span<const record_view> records(int file) override { return memory_.records.at(static_cast<std::size_t>(file)); }
  task<> bring(std::vector<record_view> those) override;
  std::string place_of(const record_view& r) const override;
  std::span<const std::byte> read(const record_view& r) override;

 private:
  bool is_here(const record_view& r) const;

  chare_pe& pe_;
  rank_memory& memory_;
  std::map<std::pair<std::int32_t, std::uint64_t>, std::vector<std::byte>> brought_;  // by file and offset
};

}  // namespace imbrex
