#include "imbrex/checkpoint/live/memory_exchange.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "imbrex/async/when_all.h"
#include "imbrex/base/error.h"
#include "imbrex/base/resize_unfilled.h"
#include "imbrex/checkpoint/live/checkpointer.h"
#include "imbrex/checkpoint/live/pe_call.h"
#include "imbrex/checkpoint/memory/stripe_code.h"

namespace imbrex {

namespace {

/// Fetched at once from each member. A PE that copies so many bytes does nothing else for some 0.1 ms.
constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;
/// So many are asked for before the first has come: a PE answers between two pieces of its own work.
constexpr std::size_t pieces_at_once = 8;

/// Bytes of a rank's image, or of its parity.
struct piece_request {
  using result = std::vector<std::byte>;
  static constexpr const char* name = "fetching a piece of a checkpoint in memory";
  std::uint64_t number = 0;
  std::int32_t parity = -1;  ///< negative: of the image
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;

  result on_pe(chare_pe& pe) const {
    memory_part* const part = checkpointer::of(pe).memory()->store.find(number);
    if (part == nullptr) throw checkpoint_error(fmt::format("checkpoint {} in memory is not there", number));
    const std::vector<std::byte>& all = parity < 0 ? part->image : part->parity.at(static_cast<std::size_t>(parity));
    if (begin > all.size() || bytes > all.size() - begin)
      throw checkpoint_error(fmt::format("checkpoint {} in memory is shorter than was said", number));
    const auto piece = std::span(all).subspan(begin, bytes);
    return {piece.begin(), piece.end()};
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & number & parity & begin & bytes;
  }
};

task<std::vector<std::byte>> fetch(pe_id from, piece_request what) {
  if (what.bytes == 0) co_return std::vector<std::byte>{};
  auto call = on_one_pe(from, what);
  co_return co_await call;
}

/// What the member at `place` has of a stripe, from `offset` on.
piece_request piece_of(const memory_part_facts& group, int place, int stripe, std::uint64_t offset,
                       std::uint64_t bytes) {
  const parity_layout::block b = group.layout.block_of(place, stripe);
  if (b.parity >= 0) return {group.number, b.parity, offset, bytes};
  const parity_layout::range r =
      group.layout.in_segment(b.segment, offset, bytes, group.files.at(static_cast<std::size_t>(place)).bytes);
  return {group.number, -1, r.begin, r.bytes};
}

std::vector<std::byte>& sized(std::vector<std::byte>& v, std::uint64_t bytes) {
  if (v.capacity() < bytes) v = {};
  v.resize(bytes);
  return v;
}

task<> in_turns(std::vector<task<>> pieces) {
  for (std::size_t next = 0; next < pieces.size();) {
    std::vector<task<>> these;
    for (; next < pieces.size() && these.size() < pieces_at_once; ++next) these.push_back(std::move(pieces[next]));
    auto all = when_all(std::move(these));
    co_await std::move(all);
  }
}

/// Part `at` of one block of parity.
task<> encode_piece(pe_id pes_per_rank, const memory_part_facts* group, stripe_code* code, int parity, std::uint64_t at,
                    std::span<std::byte> to) {
  const parity_layout& layout = group->layout;
  const int stripe = layout.stripe_of_parity(layout.place_of(group->rank), parity);
  std::vector<task<std::vector<std::byte>>> fetches(static_cast<std::size_t>(layout.num_data()));
  for (int place = 0; place < layout.size(); ++place) {
    const parity_layout::block b = layout.block_of(place, stripe);
    if (b.parity >= 0) continue;
    const pe_id from = layout.members[static_cast<std::size_t>(place)] * pes_per_rank;
    fetches[static_cast<std::size_t>(b.number)] = fetch(from, piece_of(*group, place, stripe, at, to.size()));
  }
  auto all = when_all(std::move(fetches));
  const std::vector<std::vector<std::byte>> pieces = co_await std::move(all);
  const std::vector<std::span<const std::byte>> data(pieces.begin(), pieces.end());
  code->encode(data, parity, to);
}

/// Part `at` of one segment of a lost image.
task<> restore_piece(pe_id pes_per_rank, const recovery_plan* plan, std::int32_t rank, stripe_code* code, int segment,
                     std::uint64_t at, std::span<std::byte> to) {
  const memory_part_facts& group = plan->parts.at(static_cast<std::size_t>(rank)).group;
  const parity_layout& layout = group.layout;
  const int place = layout.place_of(rank);
  const int stripe = layout.stripe_of_segment(place, segment);
  std::vector<task<std::vector<std::byte>>> fetches;
  std::vector<std::size_t> numbers;  // of blocks
  for (int other = 0; other < layout.size(); ++other) {
    const rank_id now = plan->now(layout.members[static_cast<std::size_t>(other)]);
    if (now < 0) continue;
    numbers.push_back(static_cast<std::size_t>(layout.block_of(other, stripe).number));
    fetches.push_back(fetch(now * pes_per_rank, piece_of(group, other, stripe, at, to.size())));
  }
  auto all = when_all(std::move(fetches));
  const std::vector<std::vector<std::byte>> pieces = co_await std::move(all);
  std::vector<std::optional<std::span<const std::byte>>> blocks(static_cast<std::size_t>(layout.size()));
  for (std::size_t i = 0; i < pieces.size(); ++i) blocks[numbers[i]] = pieces[i];
  code->restore(blocks, layout.block_of(place, stripe).number, to);
}

}  // namespace

task<> compute_parity(chare_pe& pe, std::uint64_t number) {
  memory_store& store = checkpointer::of(pe).memory()->store;
  const memory_part_facts group = store.find(number)->about;
  const parity_layout& layout = group.layout;
  std::vector<std::vector<std::byte>> parity = std::move(store.find(number)->parity);
  parity.resize(static_cast<std::size_t>(layout.num_parity));
  stripe_code code(layout.num_data(), layout.num_parity);
  std::vector<task<>> pieces;
  for (int j = 0; j < layout.num_parity; ++j) {
    std::vector<std::byte>& own = sized(parity[static_cast<std::size_t>(j)], layout.segment_bytes);
    for (std::uint64_t at = 0; at < own.size(); at += piece_bytes) {
      const auto to = std::span(own).subspan(at, std::min<std::uint64_t>(piece_bytes, own.size() - at));
      pieces.push_back(encode_piece(pe.rank().pes_per_rank, &group, &code, j, at, to));
    }
  }
  auto encoded = in_turns(std::move(pieces));
  co_await encoded;
  memory_part& part = *store.find(number);
  part.parity = std::move(parity);
  part.is_whole = true;
}

namespace {

/// One lost image.
task<std::vector<std::byte>> restored_image(chare_pe& pe, const recovery_plan& plan, std::int32_t rank) {
  const recovery_plan::part& lost = plan.parts.at(static_cast<std::size_t>(rank));
  const parity_layout& layout = lost.group.layout;
  stripe_code code(layout.num_data(), layout.num_parity);
  std::vector<std::byte> image;
  detail::resize_unfilled(image, lost.file.bytes);
  std::vector<task<>> pieces;
  for (int segment = 0; segment < layout.num_data(); ++segment) {
    for (std::uint64_t at = 0; at < layout.segment_bytes; at += piece_bytes) {
      const parity_layout::range own = layout.in_segment(segment, at, piece_bytes, lost.file.bytes);
      if (own.bytes == 0) break;
      const auto to = std::span(image).subspan(own.begin, own.bytes);
      pieces.push_back(restore_piece(pe.rank().pes_per_rank, &plan, rank, &code, segment, at, to));
    }
  }
  auto restored = in_turns(std::move(pieces));
  co_await restored;
  co_return image;
}

}  // namespace

task<> restore_lost_images(chare_pe& pe, rank_memory& memory) {
  for (std::size_t r = 0; r < memory.plan.parts.size(); ++r) {
    const recovery_plan::part& p = memory.plan.parts[r];
    if (!p.is_lost || p.keeper != pe.rank().rank) continue;
    auto restored = restored_image(pe, memory.plan, static_cast<std::int32_t>(r));
    std::vector<std::byte> image = co_await restored;
    memory.store.find(memory.plan.number)->restored[static_cast<std::int32_t>(r)] = std::move(image);
  }
}

}  // namespace imbrex
