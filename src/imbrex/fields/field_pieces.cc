#include "imbrex/fields/field_pieces.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "imbrex/fields/file_turn.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex::detail {

namespace {

auto order(const field_piece& p) { return std::tuple(p.block.z, p.block.y, p.block.x); }

bool overlap(const field_block& a, const field_block& b) {
  const auto meet = [](std::uint64_t from, std::uint64_t n, std::uint64_t other, std::uint64_t m) {
    return from < other + m && other < from + n;
  };
  return meet(a.x, a.cells.nx, b.x, b.cells.nx) && meet(a.y, a.cells.ny, b.y, b.cells.ny) &&
         meet(a.z, a.cells.nz, b.z, b.cells.nz);
}

/// `pieces` are in their order, by z first.
void check_apart(const field_name& name, const std::vector<field_piece>& pieces) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const field_block& b = pieces[i].block;
    for (std::size_t k = i + 1; k < pieces.size() && pieces[k].block.z < b.z + b.cells.nz; ++k) {
      if (!overlap(b, pieces[k].block)) continue;
      throw usage_error(fmt::format("two chares write the same cells of {}: one has {}, another {}", name.text(),
                                    b.text(), pieces[k].block.text()));
    }
  }
}

/// Of the job.
std::uint64_t next_number() {
  thread_local std::uint64_t last = 0;
  const scheduler& pe = scheduler::current();
  return static_cast<std::uint64_t>(pe.id()) << 32 | (++last & 0xffffffffU);
}

constexpr std::uint64_t most_ghosts = std::uint64_t{1} << 31;

std::string text_of(const field_name& name, field_type type, const field_extent& whole) {
  constexpr const char* types[] = {"float", "double", "int32", "int64", "uint8", "uint32", "uint64"};
  return fmt::format("{} x {} x {} cells of {}, {}", whole.nx, whole.ny, whole.nz, types[static_cast<int>(type)],
                     name.text());
}

}  // namespace

// The first of both, so that all PEs say the same, in whatever order they come.
void join_pieces::note_difference(field_pieces& into, field_pieces& from) {
  if (from.what < into.what) std::swap(into.what, from.what);
  const usage_error differ(
      fmt::format("chares of one array write different fields at once: one {}, another {}", into.what, from.what));
  if (into.failure_kind.empty()) into.failed(differ);
}

task<> write_own_piece(field_pieces* mine, field_name name, field_type type, field_block block, field_extent whole,
                       const void* values, std::size_t num_values) {
  const rank_id rank = scheduler::current().rank().rank;
  mine->by = next_number();
  mine->what = text_of(name, type, whole);
  try {
    check_format(name);
    if (std::ranges::any_of(block.ghosts, [](std::uint64_t n) { return n > most_ghosts; }))
      throw usage_error(fmt::format("{}: a block has {}, {} and {} ghosts", name.text(), block.ghosts[0],
                                    block.ghosts[1], block.ghosts[2]));
    if (!block.fits(whole))
      throw usage_error(fmt::format("{} are not of {}, which has {} x {} x {} cells", block.text(), name.text(),
                                    whole.nx, whole.ny, whole.nz));
    if (num_values != block.padded().volume())
      throw usage_error(fmt::format("{}: a block with {} padded cells has {} values", name.text(),
                                    block.padded().volume(), num_values));
    if (block.is_empty()) co_return;
    int turn = 0;
    auto written = in_file_turn([&] { turn = write_piece(name, type, block, rank, values); });
    co_await written;
    mine->all.push_back({block, rank, turn});
  } catch (const error& e) {
    mine->failed(e);
  }
}

task<> write_whole_of(field_pieces* all, field_name name, field_type type, std::uint64_t by, field_extent whole) {
  if (!all->failure_kind.empty() || all->by != by) co_return;
  std::ranges::sort(all->all, {}, order);
  try {
    check_apart(name, all->all);
    auto written = in_file_turn([&] { write_whole(name, type, whole, all->all); });
    co_await written;
  } catch (const error& e) {
    all->failed(e);
  }
}

}  // namespace imbrex::detail
