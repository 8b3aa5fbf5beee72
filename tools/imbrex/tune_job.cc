#include "tune_job.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <imbrex/base/build_config.h>
#include <imbrex/comm/data/protocol_file.h>
#include <imbrex/comm/data/remote_data.h>
#include <imbrex/comm/data/switch_points.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <vector>

#include "tune_player.h"
#if IMBREX_HAVE_MPI
#include <imbrex/comm/mpi/mpi_transport.h>
#endif
#if IMBREX_HAVE_UCX
#include <imbrex/comm/ucx/ucx_transport.h>
#endif

namespace tune {

namespace ix = imbrex;

namespace {

using players = ix::array_proxy<player>;
using way = ix::protocol_table::way;

constexpr std::uint64_t smallest_message = 64, largest_message = 4 << 20;
constexpr std::array<std::uint64_t, 4> chunks{64 << 10, 256 << 10, 1 << 20, 4 << 20};

/// Player 0 on the first PE, player 1 on the last.
struct far_apart {
  int operator()(const ix::index1d& i, const ix::index1d&, int num_pes) const { return i.x == 0 ? 0 : num_pes - 1; }
};

struct effort {
  std::uint64_t factor;  ///< from one size to the next
  int repeats;
  double ms;  ///< of a repeat
};

std::string size_text(std::uint64_t bytes) {
  if (bytes >= (1 << 20)) return fmt::format("{}M", bytes >> 20);
  return bytes >= (1 << 10) ? fmt::format("{}K", bytes >> 10) : fmt::format("{}", bytes);
}

std::string heading(const ix::way_times& w) {
  return w.by == way::staged ? fmt::format("staged/{}", size_text(w.chunk_bytes)) : ix::to_string(w.by);
}

std::string library(const std::string& transport) {
#if IMBREX_HAVE_MPI
  if (transport == "mpi") return ix::mpi_library_description();
#endif
#if IMBREX_HAVE_UCX
  if (transport == "ucx") return ix::ucx_library_description();
#endif
  return transport;
}

/// How messages go that were sent that way, when it is possible.
ix::remote_data::path path_of(ix::memory_kind of, way by) {
  using path = ix::remote_data::path;
  switch (by) {
    case way::direct: return path::whole;
    case way::staged: return of == ix::memory_kind::device ? path::chunks : path::whole;
    case way::shared: return path::shared;
    default: return path::none;
  }
}

std::string why_not(way by, const std::string& transport) {
  if (by == way::shared) return "the GPUs cannot read each other's memory: not on one machine, or the driver refuses";
  return fmt::format("{} does not take GPU memory here", transport);
}

/// Everything that is measured, with both players.
class measurement {
 public:
  measurement(players both, std::string transport, effort how)
      : both_(both), transport_(std::move(transport)), how_(how) {}

  /// All sizes and ways of one kind of memory; prints them as they come.
  ix::task<ix::protocol_times> take(ix::memory_kind of) {
    times_ = {.of = of, .sizes = {}, .ways = {}};
    for (std::uint64_t b = smallest_message; b <= largest_message; b *= how_.factor) times_.sizes.push_back(b);
    auto opened = open();
    co_await opened;
    auto found = find_ways();
    co_await found;
    fmt::print("\n{} memory, one way in us, median of {}\n{:>8}", to_string(of), how_.repeats, "bytes");
    for (const ix::way_times& w : times_.ways) fmt::print("{:>13}", heading(w));
    fmt::print("\n");
    for (std::size_t i = 0; i < times_.sizes.size(); ++i) {
      auto taken = take_size(i);
      co_await taken;
    }
    co_return std::move(times_);
  }

 private:
  ix::task<> open() {
    auto first = both_[0].call<&player::open>(times_.of, largest_message);
    auto second = both_[1].call<&player::open>(times_.of, largest_message);
    auto opened = ix::when_all(std::move(first), std::move(second));
    co_await std::move(opened);
  }

  /// The ways that messages do take when they are told to.
  ix::task<> find_ways() {
    std::vector<ix::way_times> wanted{{.by = way::packed, .chunk_bytes = 0, .us = {}},
                                      {.by = way::direct, .chunk_bytes = 0, .us = {}}};
    if (times_.of == ix::memory_kind::device) {
      wanted.push_back({.by = way::shared, .chunk_bytes = 0, .us = {}});
      for (const std::uint64_t c : chunks) wanted.push_back({.by = way::staged, .chunk_bytes = c, .us = {}});
    }
    for (ix::way_times& w : wanted) {
      const auto expected = static_cast<std::size_t>(path_of(times_.of, w.by));
      auto tried = play(w, chunks.front(), 1);
      const outcome o = co_await tried;
      std::uint64_t elsewhere = 0;
      for (std::size_t p = 1; p < o.sent.size(); ++p) elsewhere += p == expected ? 0 : o.sent[p];
      const bool possible = elsewhere == 0 && (expected == 0 || o.sent[expected] == 2);
      if (possible) {
        times_.ways.push_back(std::move(w));
      } else {
        fmt::print("not measured: {} memory, {}: {}\n", to_string(times_.of), ix::to_string(w.by),
                   why_not(w.by, transport_));
      }
    }
  }

  /// A warm-up tells how many trips fit into a repeat; the ways take turns.
  ix::task<> take_size(std::size_t size) {
    const std::uint64_t bytes = times_.sizes[size];
    std::vector<int> trips;
    for (const ix::way_times& w : times_.ways) {
      auto warm = warm_up(w, bytes);
      trips.push_back(co_await warm);
    }
    for (ix::way_times& w : times_.ways) w.us.emplace_back();
    for (int repeat = 0; repeat < how_.repeats; ++repeat) {
      for (std::size_t i = 0; i < trips.size(); ++i) {
        auto played = play(times_.ways[i], bytes, trips[i]);
        const outcome o = co_await played;
        times_.ways[i].us[size].push_back(static_cast<double>(o.ns) / 1e3 / (2.0 * trips[i]));
      }
    }
    fmt::print("{:>8}", size_text(bytes));
    for (const ix::way_times& w : times_.ways) fmt::print("{:>13.2f}", ix::median(w.us[size]));
    fmt::print("\n");
    std::fflush(stdout);
  }

  ix::task<int> warm_up(const ix::way_times& w, std::uint64_t bytes) {
    int trips = 2;
    for (int tries = 0; tries < 2; ++tries) {
      auto played = play(w, bytes, trips);
      const outcome o = co_await played;
      const double ms = static_cast<double>(std::max<std::int64_t>(o.ns, 1)) / 1e6 / trips;
      trips = static_cast<int>(std::clamp(std::floor(how_.ms / ms), 1.0, 1000.0));
    }
    co_return trips;
  }

  /// Player 0 tells the time; both tell how their messages went.
  ix::task<outcome> play(const ix::way_times& w, std::uint64_t bytes, int trips) {
    plan p;
    p.of = times_.of;
    p.table.forced = w.by;
    if (w.chunk_bytes != 0) p.table.chunk_bytes = w.chunk_bytes;
    p.bytes = bytes;
    p.trips = trips;
    auto first = both_[0].call<&player::measure>(p);
    auto second = both_[1].call<&player::measure>(p);
    auto measured = ix::when_all(std::move(first), std::move(second));
    auto [a, b] = co_await std::move(measured);
    for (std::size_t i = 0; i < a.sent.size(); ++i) a.sent[i] += b.sent[i];
    co_return a;
  }

  const players both_;
  const std::string transport_;
  const effort how_;
  ix::protocol_times times_;
};

std::string value_text(std::uint64_t bytes) {
  return bytes == ix::protocol_table::always ? "always" : std::to_string(bytes);
}

void print_points(const ix::protocol_table& chosen, const std::vector<ix::memory_kind>& measured) {
  const ix::protocol_table built_in;
  fmt::print("\nswitch points, in bytes\n");
  for (const ix::protocol_value& v : ix::protocol_values()) {
    const bool known = std::ranges::find(measured, v.of) != measured.end();
    fmt::print("  {:<22}{:>12}  (built in: {})\n", v.name, known ? value_text(chosen.*v.member) : "not measured",
               value_text(built_in.*v.member));
  }
}

ix::protocol_section section(ix::memory_kind of, const ix::protocol_table& points, const std::string& transport,
                             const place& a, const place& b) {
  ix::protocol_section s{of, points, {}};
  s.notes.emplace_back("measured", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))));
  s.notes.emplace_back("imbrex", IMBREX_VERSION);
  s.notes.emplace_back("library", library(transport));
  s.notes.emplace_back("between",
                       a.machine == b.machine ? "two ranks of one machine" : "two machines, the other is " + b.machine);
  if (of == ix::memory_kind::device) s.notes.emplace_back("gpus", a.gpu == b.gpu ? a.gpu : a.gpu + " and " + b.gpu);
  return s;
}

/// The folder where jobs look by themselves is made; one that the user names may be a slip.
void check_folder_of(const std::string& output) {
  const std::filesystem::path folder = std::filesystem::path(output).parent_path();
  std::error_code none;
  if (output == ix::protocols_path("auto") || folder.empty() || std::filesystem::exists(folder, none)) return;
  throw ix::usage_error(
      fmt::format("--output {}: there is no folder {}: make it first, or give another file", output, folder.string()));
}

void say_how_to_start(const ix::runtime& rt) {
  fmt::print(stderr,
             "imbrex: tune measures between two ranks, but there {} {}: start it as mpirun -n 2 imbrex tune, on two "
             "machines to measure the network between them{}\n",
             rt.num_ranks() == 1 ? "is" : "are", rt.num_ranks(),
             rt.num_ranks() == 1 && rt.options().transport != "auto"
                 ? fmt::format(" (--imbrex-transport is {})", rt.options().transport)
                 : "");
}

}  // namespace

ix::task<int> measure_protocols(ix::runtime& rt, const options* o) {
  if (rt.num_ranks() != 2) {
    say_how_to_start(rt);
    co_return 2;
  }
  try {
    check_folder_of(o->output);
    ix::check_protocols_storable(o->output);
  } catch (const ix::error& e) {
    fmt::print(stderr, "imbrex: {}\n", e.what());
    co_return e.exit_code();
  }
  const players both = rt.create_array<player>(ix::placed(ix::index1d{2}, far_apart{}));
  auto first = both[0].call<&player::where>();
  auto second = both[1].call<&player::where>();
  auto looked = ix::when_all(std::move(first), std::move(second));
  const auto [a, b] = co_await std::move(looked);
  const std::string transport = rt.transport_name();
  const effort how = o->quick ? effort{4, 7, 0.5} : effort{2, 41, 1.5};
  fmt::print("imbrex tune: {} ({}) between {} and {}; {} repeats of about {:g} ms in turns\n", transport,
             library(transport), a.machine, b.machine, how.repeats, how.ms);

  std::vector<ix::memory_kind> kinds{ix::memory_kind::host};
  if (!a.gpu.empty() && !b.gpu.empty()) {
    kinds.push_back(ix::memory_kind::device);
  } else {
    fmt::print("not measured: device memory: {}\n", rt.why_no_gpu().empty()
                                                        ? "not both ranks use a GPU; --imbrex-device=cuda asks for them"
                                                        : rt.why_no_gpu());
  }
  std::fflush(stdout);
  ix::protocol_entry entry{a.machine, transport, {}};
  ix::protocol_table chosen;
  measurement all(both, transport, how);
  for (const ix::memory_kind of : kinds) {
    auto taken = all.take(of);
    const ix::protocol_times times = co_await taken;
    chosen = ix::choose_points(times, chosen);
    entry.sections.push_back(section(of, chosen, transport, a, b));
  }
  auto third = both[0].call<&player::close>();
  auto fourth = both[1].call<&player::close>();
  auto closed = ix::when_all(std::move(third), std::move(fourth));
  co_await std::move(closed);

  print_points(chosen, kinds);
  try {
    ix::store_protocols(o->output, entry);
  } catch (const ix::error& e) {
    fmt::print(stderr, "imbrex: {}\n", e.what());
    co_return e.exit_code();
  }
  fmt::print("stored in {} for {} on {}\n", o->output, transport, a.machine);
  co_return 0;
}

}  // namespace tune
