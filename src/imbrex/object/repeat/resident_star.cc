#include "imbrex/object/repeat/resident_star.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex {

namespace {

/// Why a chare cannot take part.
enum class obstacle : std::uint64_t { none, several_processes, not_a_stack, not_on_cuda, empty, too_large };

/// What the others have to know of a chare. Each field is a number of its own, so that adding up puts them together.
struct place_in_stack {
  std::uint64_t why_not, gpu, faces, counts, tiles_z, nx, ny, nz;
};
constexpr std::size_t fields = sizeof(place_in_stack) / sizeof(std::uint64_t);

place_in_stack place_of(const std::vector<std::uint64_t>& all, std::uint64_t number) {
  const std::uint64_t* const at = &all[fields * number];
  return {at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7]};
}

/// Of the GPU that `s` is a stream of.
int multiprocessors(const stream& s) {
  constexpr int of_simulated_one = 132;
#if IMBREX_HAVE_CUDA
  if (!s.is_simulated()) return detail::multiprocessors_of(s.on().number());
#endif
  return s.is_simulated() ? of_simulated_one : 0;
}

/// How a GPU would do such a block, or why it cannot.
obstacle cut_for(device& d, const star_grid& g, resident_cut* cut) {
  if (d.kind() != device_kind::cuda) return obstacle::not_on_cuda;
  if (g.nx <= 0 || g.ny <= 0 || g.nz <= 0) return obstacle::empty;
  const int most = multiprocessors(*d.make_stream(stream_priority::low, "resident star"));
  *cut = resident_cut::of(g, most);
  return cut->num_tiles() <= most ? obstacle::none : obstacle::too_large;
}

std::string text_of(obstacle o, std::uint64_t nx, std::uint64_t ny, std::uint64_t nz) {
  constexpr int width = resident_cut::width;
  switch (o) {
    case obstacle::none: return "";
    case obstacle::several_processes: return "the chares are in several processes: use one for all GPUs";
    case obstacle::not_a_stack:
      return "the array has several chares in x or y: let the blocks lie above one another in z";
    case obstacle::not_on_cuda: return "it is not on a GPU of CUDA (--imbrex-device=cuda)";
    case obstacle::empty: return "its block has no cells: use fewer GPUs";
    case obstacle::too_large: break;
  }
  return fmt::format(
      "its block of {} x {} x {} cells is too large for the multiprocessors' registers, which hold {} x {} x {} each: "
      "use "
      "more GPUs, or star_steps",
      nx, ny, nz, width, width, resident_cut::deep);
}

[[noreturn]] void refuse(std::uint64_t number, const std::string& what) {
  throw usage_error(fmt::format("a resident_star cannot be connected for chare {}: {}", number, what));
}

bool reaches(const device& d, std::uint64_t gpu) {
  const auto& all = scheduler::current().gpus;
  const auto there = std::ranges::find_if(
      all, [&](const device* one) { return one != nullptr && static_cast<std::uint64_t>(one->number()) == gpu; });
  return there == all.end() || d.reaches(**there);
}

}  // namespace

std::string resident_star::why_not(device& d, const star_grid& g) {
  resident_cut cut;
  const auto cells = [](int n) { return static_cast<std::uint64_t>(std::max(n, 0)); };
  return text_of(cut_for(d, g, &cut), cells(g.nx), cells(g.ny), cells(g.nz));
}

task<std::vector<std::uint64_t>> resident_star::make_room(device& d, star_grid g, bool is_stack, std::uint64_t number,
                                                          std::uint64_t num) {
  if (is_connected()) throw usage_error("a resident_star is connected once: it was before");
  std::vector<std::uint64_t> all(fields * num);
  std::uint64_t* const mine = &all[fields * number];
  const obstacle why_not = scheduler::current().rank().num_ranks > 1 ? obstacle::several_processes
                           : !is_stack                               ? obstacle::not_a_stack
                                                                     : cut_for(d, g, &rounds_.cut);
  mine[0] = static_cast<std::uint64_t>(why_not);
  const std::array<int, 3> size{g.nx, g.ny, g.nz};
  std::ranges::transform(size, mine + 5, [](int n) { return static_cast<std::uint64_t>(std::max(n, 0)); });
  if (why_not != obstacle::none) co_return all;
  const auto tiles = static_cast<std::size_t>(rounds_.cut.num_tiles());
  faces_ = buffer<double>(d, tiles * resident_inbox::of_tile);
  counts_ = buffer<unsigned>(d, tiles * resident_inbox::counters);
  const std::unique_ptr<stream> s = d.make_stream(stream_priority::high, "resident star");
  s->fill(counts_.data(), 0, counts_.size() * sizeof(unsigned));
  co_await s->done();  // before a neighbour counts there
  mine[1] = static_cast<std::uint64_t>(d.number());
  mine[2] = reinterpret_cast<std::uint64_t>(faces_.data());
  mine[3] = reinterpret_cast<std::uint64_t>(counts_.data());
  mine[4] = static_cast<std::uint64_t>(rounds_.cut.tiles_z);
  co_return all;
}

void resident_star::meet_neighbours(device& d, const std::vector<std::uint64_t>& all, std::uint64_t number,
                                    std::uint64_t num) {
  for (std::uint64_t n = 0; n < num; ++n) {
    const place_in_stack p = place_of(all, n);
    if (const auto why_not = static_cast<obstacle>(p.why_not); why_not != obstacle::none)
      refuse(n, text_of(why_not, p.nx, p.ny, p.nz));
    for (std::uint64_t before = 0; before < n; ++before) {
      if (place_of(all, before).gpu == p.gpu)
        refuse(n, fmt::format("chare {} is on the same GPU {}: let each have one of its own", before, p.gpu));
    }
  }
  const auto inbox = [&](std::uint64_t n) {
    const place_in_stack p = place_of(all, n);
    if (n != number && !reaches(d, p.gpu))
      refuse(n, fmt::format("GPU {} does not reach the memory of GPU {}, of its neighbour", d.number(), p.gpu));
    return resident_inbox{reinterpret_cast<double*>(p.faces), reinterpret_cast<unsigned*>(p.counts)};
  };
  if (number > 0) {
    rounds_.below = inbox(number - 1);
    rounds_.tiles_z_below = static_cast<int>(place_of(all, number - 1).tiles_z);
  }
  if (number + 1 < num) rounds_.above = inbox(number + 1);
  rounds_.own = inbox(number);
}

resident_rounds resident_star::rounds(int num) {
  if (!is_connected()) throw usage_error("a resident_star was asked for rounds before it was connected");
  if (num < 0) throw usage_error(fmt::format("a resident_star was asked for {} rounds: ask for 0 or more", num));
  resident_rounds r = rounds_;
  r.num = num;
  rounds_.before += static_cast<unsigned>(num);
  return r;
}

}  // namespace imbrex
