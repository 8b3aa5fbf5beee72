#include "imbrex/checkpoint/live/memory_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "imbrex/async/when_all.h"
#include "imbrex/base/error.h"
#include "imbrex/checkpoint/live/checkpointer.h"
#include "imbrex/checkpoint/live/memory_exchange.h"
#include "imbrex/checkpoint/live/pe_call.h"
#include "imbrex/checkpoint/live/pe_snapshot.h"
#include "imbrex/checkpoint/live/tree_call.h"
#include "imbrex/checkpoint/snapshot_error.h"

namespace imbrex {

namespace {

bool is_told(const record_view& r) { return r.kind != static_cast<std::uint32_t>(record_kind::element); }

const std::vector<std::byte>& image_here(rank_memory& memory, std::int32_t rank) {
  const memory_part* const mine = memory.store.find(memory.plan.number);
  const std::vector<std::byte>* const image = mine != nullptr ? mine->image_of(rank) : nullptr;
  if (image == nullptr) throw checkpoint_error(fmt::format("{} is not where it was said to be", image_name(rank)));
  return *image;
}

/// What a keeper's parts have.
struct contents_request {
  using result = std::vector<image_contents>;
  static constexpr const char* name = "reading the index of a checkpoint in memory";
  result on_pe(chare_pe& pe) const { return checkpointer::of(pe).memory()->own_contents; }
  template <class Archive>
  void serialize(Archive&) {}
};

/// Payloads of records, one after the other.
struct payloads_request {
  using result = std::vector<std::byte>;
  static constexpr const char* name = "bringing elements of a checkpoint in memory";
  struct piece {
    std::int32_t rank = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<piece> pieces;
  result on_pe(chare_pe& pe) const {
    rank_memory& memory = *checkpointer::of(pe).memory();
    std::uint64_t bytes = 0;
    for (const piece& p : pieces) bytes += p.bytes;
    result all;
    all.reserve(bytes);
    for (const piece& p : pieces) {
      const auto from = std::span(image_here(memory, p.rank)).subspan(p.offset, p.bytes);
      all.insert(all.end(), from.begin(), from.end());
    }
    return all;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & pieces;
  }
};

void read_own_contents(rank_memory& memory, rank_id me) {
  memory.own_contents.clear();
  for (std::size_t r = 0; r < memory.plan.parts.size(); ++r) {
    const recovery_plan::part& p = memory.plan.parts[r];
    const auto rank = static_cast<std::int32_t>(r);
    if (p.keeper == me)
      memory.own_contents.push_back(contents_of(image_here(memory, rank), rank, p.file.index_crc, &is_told));
  }
}

struct restore_images_request {
  using result = std::monostate;
  static constexpr const char* name = "restoring lost parts of a checkpoint";
  task<result> on_pe(chare_pe& pe) {
    if (pe.id() == pe.rank().first_pe()) {
      rank_memory& memory = *checkpointer::of(pe).memory();
      auto restored = restore_lost_images(pe, memory);
      co_await restored;
      read_own_contents(memory, pe.rank().rank);
    }
    co_return std::monostate{};
  }
  template <class Archive>
  void serialize(Archive&) {}
};

task<> read_all_contents(chare_pe& pe, rank_memory& memory) {
  std::vector<task<std::vector<image_contents>>> calls;
  calls.reserve(static_cast<std::size_t>(pe.rank().num_ranks));
  for (int r = 0; r < pe.rank().num_ranks; ++r)
    calls.push_back(on_one_pe(r * pe.rank().pes_per_rank, contents_request{}));
  auto all = when_all(std::move(calls));
  memory.contents.clear();
  memory.contents.resize(memory.plan.parts.size());
  for (std::vector<image_contents>& of_rank : co_await std::move(all)) {
    for (image_contents& c : of_rank) {
      const auto r = static_cast<std::size_t>(c.rank);
      memory.contents.at(r) = std::move(c);
    }
  }
  memory.records.clear();
  for (const image_contents& c : memory.contents) memory.records.push_back(records_of(c));
}

struct contents_everywhere_request {
  using result = std::monostate;
  static constexpr const char* name = "telling what a checkpoint in memory has";
  task<result> on_pe(chare_pe& pe) {
    if (pe.id() == pe.rank().first_pe()) {
      auto read = read_all_contents(pe, *checkpointer::of(pe).memory());
      co_await read;
    }
    co_return std::monostate{};
  }
  template <class Archive>
  void serialize(Archive&) {}
};

task<std::vector<std::byte>> payloads_of(pe_id keeper, std::vector<payloads_request::piece> pieces) {
  auto call = on_one_pe(keeper, payloads_request{std::move(pieces)});
  co_return co_await call;
}

}  // namespace

task<> ready_memory() {
  auto restored = on_all_pes(restore_images_request{});
  co_await restored;
  auto told = on_all_pes(contents_everywhere_request{});
  co_await told;
}

bool memory_records::is_here(const record_view& r) const {
  return memory_.plan.parts.at(static_cast<std::size_t>(r.file)).keeper == pe_.rank().rank;
}

task<> memory_records::bring(std::vector<record_view> those) {
  brought_.clear();
  std::map<std::int32_t, std::vector<record_view>> by_keeper;
  for (const record_view& r : those) {
    if (!is_here(r)) by_keeper[memory_.plan.parts.at(static_cast<std::size_t>(r.file)).keeper].push_back(r);
  }
  std::vector<task<std::vector<std::byte>>> calls;
  for (const auto& [keeper, records] : by_keeper) {
    std::vector<payloads_request::piece> pieces;
    pieces.reserve(records.size());
    for (const record_view& r : records) pieces.push_back({r.file, r.offset, r.bytes});
    calls.push_back(payloads_of(keeper * pe_.rank().pes_per_rank, std::move(pieces)));
  }
  if (calls.empty()) co_return;
  auto all = when_all(std::move(calls));
  const std::vector<std::vector<std::byte>> answers = co_await std::move(all);
  auto answer = answers.begin();
  for (const auto& [keeper, records] : by_keeper) {
    std::span<const std::byte> left(*answer++);
    for (const record_view& r : records) {
      const auto own = left.first(r.bytes);
      brought_[{r.file, r.offset}].assign(own.begin(), own.end());
      left = left.subspan(r.bytes);
    }
  }
}

std::string memory_records::place_of(const record_view& r) const { return image_name(r.file); }

std::span<const std::byte> memory_records::read(const record_view& r) {
  std::span<const std::byte> payload;
  if (is_told(r)) {
    const image_contents& c = memory_.contents.at(static_cast<std::size_t>(r.file));
    const std::vector<record_view>& all = memory_.records.at(static_cast<std::size_t>(r.file));
    // Keys lie in the index in the order of records.
    const auto same =
        std::ranges::lower_bound(all, r.key.data(), {}, [](const record_view& o) { return o.key.data(); });
    payload = c.payloads.at(static_cast<std::size_t>(same - all.begin()));
  } else if (is_here(r)) {
    payload = std::span<const std::byte>(image_here(memory_, r.file)).subspan(r.offset, r.bytes);
  } else {
    payload = brought_.at({r.file, r.offset});
  }
  check_payload(r, payload, image_name(r.file));
  return payload;
}

}  // namespace imbrex
