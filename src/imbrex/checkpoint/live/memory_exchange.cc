#include "imbrex/checkpoint/live/memory_exchange.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "imbrex/async/behind.h"
#include "imbrex/async/when_all.h"
#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "imbrex/base/memory/resize_unfilled.h"
#include "imbrex/checkpoint/live/checkpointer.h"
#include "imbrex/checkpoint/live/pe_call.h"
#include "imbrex/checkpoint/memory/stripe_code.h"
#include "imbrex/comm/data/data_mover.h"

namespace imbrex {

namespace {

/// Fetched at once from each member. Where the network is the processor's copying, its PE does nothing else for some
/// 0.1 ms meanwhile.
constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;
/// So many are asked for before the first has come: a PE answers between two pieces of its own work.
constexpr std::size_t pieces_at_once = 8;

/// How a PE exchanges pieces: as fast as it can, or so that chares have most of its time.
enum class pace { fast, beside_others };

/// Bytes of a rank's image, or of its parity. They are sent from where they are: the part stays until all have it.
struct piece_request {
  using result = remote_data;
  static constexpr const char* name = "fetching a piece of a checkpoint in memory";
  std::uint64_t number = 0;
  std::int32_t parity = -1;  ///< negative: of the image
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  rank_id to = 0;  ///< whose first PE asks

  /// Where they are, on that rank.
  std::span<std::byte> find(chare_pe& pe) const {
    memory_part* const part = checkpointer::of(pe).memory()->store.find(number);
    if (part == nullptr) throw checkpoint_error(fmt::format("checkpoint {} in memory is not there", number));
    std::vector<std::byte>& all = parity < 0 ? part->image : part->parity.at(static_cast<std::size_t>(parity));
    if (begin > all.size() || bytes > all.size() - begin)
      throw checkpoint_error(fmt::format("checkpoint {} in memory is shorter than was said", number));
    return std::span(all).subspan(begin, bytes);
  }
  result on_pe(chare_pe& pe) const {
    const data_view piece{find(pe).data(), bytes, memory_kind::host};
    return pe.mover->send_whole(to, to * pe.rank().pes_per_rank, piece, {}, true);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & number & parity & begin & bytes & to;
  }
};

/// Memory for pieces, used again and again. What is under way to one holds it, also when nobody waits any more.
class piece_rooms {
 public:
  using room = std::shared_ptr<std::vector<std::byte>>;
  room take() {
    for (const room& r : all_) {
      if (r.use_count() == 1) return r;
    }
    all_.push_back(std::make_shared<std::vector<std::byte>>());
    detail::resize_unfilled(*all_.back(), piece_bytes);
    return all_.back();
  }

 private:
  std::vector<room> all_;
};

/// Brings a piece to `to`, which is in `room`, or in what outlives the run.
task<> fetch(pe_id from, piece_request what, std::byte* to, piece_rooms::room room) {
  if (what.bytes == 0) co_return;
  chare_pe& pe = chare_pe::current();
  if (pe.rank().is_local(from)) {
    std::ranges::copy(what.find(pe), to);
    co_return;
  }
  what.to = pe.rank().rank;
  auto call = on_one_pe(from, what);
  const remote_data coming = co_await call;
  struct arrival {
    completion is_there;
    piece_rooms::room room;
  };
  const auto piece = std::make_shared<arrival>();
  piece->room = std::move(room);
  pe.mover->fetch(coming, {to, what.bytes, memory_kind::host}, nullptr, [piece] { piece->is_there.set(); });
  co_await piece->is_there;
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

/// Memory that nobody has touched yet costs as much as what is copied there: not the PE's time.
task<> make_room(std::vector<std::vector<std::byte>>* parity, int num, std::uint64_t bytes) {
  const auto make = [=] {
    parity->resize(static_cast<std::size_t>(num));
    for (std::vector<std::byte>& v : *parity) {
      if (v.capacity() < bytes) v = {};
      v.resize(bytes);
    }
  };
  if (bytes <= piece_bytes) {
    make();
    co_return;
  }
  auto made = behind(make);
  co_await made;
}

/// Several times as long as the last pieces took, within limits: chares have most of the PE then, and of the network.
task<> leave_time_to_others(std::int64_t took_ns) {
  constexpr std::int64_t times = 7, most_ns = 20'000'000;
  auto waited =
      behind([=] { std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(times * took_ns, most_ns))); });
  co_await waited;
}

task<> in_turns(std::vector<task<>> pieces, pace how) {
  for (std::size_t next = 0; next < pieces.size();) {
    std::vector<task<>> these;
    for (; next < pieces.size() && these.size() < pieces_at_once; ++next) these.push_back(std::move(pieces[next]));
    const std::int64_t began = now_ns();
    auto all = when_all(std::move(these));
    co_await std::move(all);
    if (how == pace::fast || next == pieces.size()) continue;
    auto others = leave_time_to_others(now_ns() - began);
    co_await others;
  }
}

/// Part `at` of one block of parity.
task<> encode_piece(pe_id pes_per_rank, const memory_part_facts* group, stripe_code* code, piece_rooms* rooms,
                    int parity, std::uint64_t at, std::span<std::byte> to) {
  const parity_layout& layout = group->layout;
  const int stripe = layout.stripe_of_parity(layout.place_of(group->rank), parity);
  std::vector<task<>> fetches;
  std::vector<piece_rooms::room> pieces(static_cast<std::size_t>(layout.num_data()));
  std::vector<std::span<const std::byte>> data(pieces.size());
  for (int place = 0; place < layout.size(); ++place) {
    const parity_layout::block b = layout.block_of(place, stripe);
    if (b.parity >= 0) continue;
    const pe_id from = layout.members[static_cast<std::size_t>(place)] * pes_per_rank;
    const piece_request what = piece_of(*group, place, stripe, at, to.size());
    const auto i = static_cast<std::size_t>(b.number);
    std::byte* where = to.data();
    if (!code->copies()) {
      pieces[i] = rooms->take();
      where = pieces[i]->data();
    }
    data[i] = {where, what.bytes};
    fetches.push_back(fetch(from, what, where, pieces[i]));
  }
  auto all = when_all(std::move(fetches));
  co_await std::move(all);
  code->encode(data, parity, to);
}

/// Part `at` of one segment of a lost image.
task<> restore_piece(pe_id pes_per_rank, const recovery_plan* plan, std::int32_t rank, stripe_code* code,
                     piece_rooms* rooms, int segment, std::uint64_t at, std::span<std::byte> to) {
  const memory_part_facts& group = plan->parts.at(static_cast<std::size_t>(rank)).group;
  const parity_layout& layout = group.layout;
  const int place = layout.place_of(rank);
  const int stripe = layout.stripe_of_segment(place, segment);
  std::vector<task<>> fetches;
  std::vector<std::optional<std::span<const std::byte>>> blocks(static_cast<std::size_t>(layout.size()));
  for (int other = 0; other < layout.size(); ++other) {
    const rank_id now = plan->now(layout.members[static_cast<std::size_t>(other)]);
    if (now < 0) continue;
    const piece_request what = piece_of(group, other, stripe, at, to.size());
    const piece_rooms::room room = rooms->take();
    blocks[static_cast<std::size_t>(layout.block_of(other, stripe).number)] = {room->data(), what.bytes};
    fetches.push_back(fetch(now * pes_per_rank, what, room->data(), room));
  }
  auto all = when_all(std::move(fetches));
  co_await std::move(all);
  code->restore(blocks, layout.block_of(place, stripe).number, to);
}

}  // namespace

task<> compute_parity(chare_pe& pe, std::uint64_t number) {
  memory_store& store = checkpointer::of(pe).memory()->store;
  const memory_part_facts group = store.find(number)->about;
  const parity_layout& layout = group.layout;
  auto made = make_room(&store.find(number)->parity, layout.num_parity, layout.segment_bytes);
  co_await made;
  stripe_code code(layout.num_data(), layout.num_parity);
  piece_rooms rooms;
  std::vector<task<>> pieces;
  for (int j = 0; j < layout.num_parity; ++j) {
    std::vector<std::byte>& own = store.find(number)->parity[static_cast<std::size_t>(j)];
    for (std::uint64_t at = 0; at < own.size(); at += piece_bytes) {
      const auto to = std::span(own).subspan(at, std::min<std::uint64_t>(piece_bytes, own.size() - at));
      pieces.push_back(encode_piece(pe.rank().pes_per_rank, &group, &code, &rooms, j, at, to));
    }
  }
  auto encoded = in_turns(std::move(pieces), pace::beside_others);
  co_await encoded;
  store.find(number)->is_whole = true;
}

namespace {

/// One lost image.
task<std::vector<std::byte>> restored_image(chare_pe& pe, const recovery_plan& plan, std::int32_t rank) {
  const recovery_plan::part& lost = plan.parts.at(static_cast<std::size_t>(rank));
  const parity_layout& layout = lost.group.layout;
  stripe_code code(layout.num_data(), layout.num_parity);
  piece_rooms rooms;
  std::vector<std::byte> image;
  detail::resize_unfilled(image, lost.file.bytes);
  std::vector<task<>> pieces;
  for (int segment = 0; segment < layout.num_data(); ++segment) {
    for (std::uint64_t at = 0; at < layout.segment_bytes; at += piece_bytes) {
      const parity_layout::range own = layout.in_segment(segment, at, piece_bytes, lost.file.bytes);
      if (own.bytes == 0) break;
      const auto to = std::span(image).subspan(own.begin, own.bytes);
      pieces.push_back(restore_piece(pe.rank().pes_per_rank, &plan, rank, &code, &rooms, segment, at, to));
    }
  }
  auto restored = in_turns(std::move(pieces), pace::fast);
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
