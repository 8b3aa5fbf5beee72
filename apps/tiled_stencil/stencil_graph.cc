#include "stencil_graph.h"

#include <fmt/format.h>
#include <imbrex/clock.h>
#include <imbrex/task_graph.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "stencil_result.h"
#include "support/output_place.h"
#include "tile_sweep.h"

namespace tiled_stencil {
namespace {

namespace ix = imbrex;

/// What every rank has to know.
struct request {
  int n, tile, steps, ahead, repeats;
  bool on_host, verify;
  std::int8_t device;  ///< its kind; -1: none

  int num_tiles() const { return n / tile; }
  std::size_t cells() const { return static_cast<std::size_t>(tile) * static_cast<std::size_t>(tile); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & n & tile & steps & ahead & repeats & on_host & verify & device;
  }
};

/// A block of tiles for each rank, as square as their number allows.
struct blocks {
  int num_tiles, columns, rows;

  blocks(int tiles, int ranks) : num_tiles(tiles), columns(1), rows(ranks) {
    for (int c = 1; c * c <= ranks; ++c) {
      if (ranks % c == 0) columns = c, rows = ranks / c;
    }
  }
  int rank_of(int x, int y) const { return y * rows / num_tiles * columns + x * columns / num_tiles; }
  int operator()(const ix::index2d& i, int) const { return rank_of(i.x, i.y); }
  int operator()(const ix::index3d& i, int) const { return rank_of(i.x, i.y); }
};

enum side { west, east, south, north, num_sides };

/// The grid at one time.
struct field {
  ix::distributed<double, ix::index2d> cells;
  ix::distributed<double, ix::index3d> edges;  ///< of tile (x, y), by side

  field(ix::task_graph& g, const request& r, const blocks& where)
      : cells(g, {r.num_tiles(), r.num_tiles()}, r.cells(), where),
        edges(g, {r.num_tiles(), r.num_tiles(), num_sides}, static_cast<std::size_t>(r.tile), where) {}
};

/// Of modes (1, 2): what a step multiplies all cells with, so that the grid is known at any time.
struct sine {
  double h;

  explicit sine(int n) : h(std::numbers::pi / (n + 1)) {}
  double at(int x, int y) const { return std::sin(h * (x + 1)) * std::sin(2 * h * (y + 1)); }
  double after(int steps) const { return std::pow(0.5 * (std::cos(h) + std::cos(2 * h)), steps); }
};

void begin(int x, int y, int b, int n, double* cells, double* to_west, double* to_east, double* to_south,
           double* to_north) {
  const sine wave(n);
  for (int j = 0; j < b; ++j) {
    for (int i = 0; i < b; ++i)
      cells[static_cast<std::size_t>(j) * static_cast<std::size_t>(b) + static_cast<std::size_t>(i)] =
          wave.at(x * b + i, y * b + j);
  }
  take_edges(b, cells, to_west, to_east, to_south, to_north);
}

void compare(std::span<const double> cells, std::span<double> worst, int x, int y, int b, int n, int steps) {
  const sine wave(n);
  const double scale = wave.after(steps);
  std::size_t at = 0;
  for (int j = 0; j < b; ++j) {
    for (int i = 0; i < b; ++i)
      worst[0] = std::max(worst[0], std::abs(cells[at++] / scale - wave.at(x * b + i, y * b + j)));
  }
}

/// The graph of some steps.
class stencil {
 public:
  stencil(ix::task_graph& g, const request& r)
      : g_(g),
        r_(r),
        where_(r.num_tiles(), g.num_ranks()),
        boundary_(g, g.num_ranks(), static_cast<std::size_t>(r.tile), ix::map::round_robin{}),
        even_(g, r, where_),
        odd_(g, r, where_) {}

  void fill() {
    const auto zero = [](std::span<double> edge) { std::ranges::fill(edge, 0.0); };
    for (int i = 0; i < g_.num_ranks(); ++i) g_.submit({.name = "boundary"}, zero, write(boundary_(i)));
    for_each_tile([&](int x, int y) {
      field& f = *now_;
      g_.submit({.name = "begin"}, &begin, x, y, r_.tile, r_.n, write(f.cells(x, y)), write(f.edges(x, y, west)),
                write(f.edges(x, y, east)), write(f.edges(x, y, south)), write(f.edges(x, y, north)));
    });
  }

  ix::task<> advance() {
    for (int step = 0; step < r_.steps; ++step) {
      for_each_tile([&](int x, int y) { sweep(x, y); });
      std::swap(now_, next_);
      co_await g_.fewer_tasks_than(static_cast<std::uint64_t>(r_.ahead));
    }
  }

  ix::task<double> error_after(int steps) {
    ix::distributed<double> worst(g_, 1, 1);
    for_each_tile([&](int x, int y) {
      g_.submit({.name = "compare"}, &compare, now_->cells(x, y), reduce(worst(0), ix::max, 0.0), x, y, r_.tile, r_.n,
                steps);
    });
    const std::vector<double> greatest = co_await ix::values(g_, worst(0));
    co_return greatest[0];
  }

 private:
  template <class F>
  void for_each_tile(F f) const {
    for (int y = 0; y < r_.num_tiles(); ++y) {
      for (int x = 0; x < r_.num_tiles(); ++x) f(x, y);
    }
  }
  /// What a tile's neighbour has beside it; the boundary's, of its own rank, where there is none.
  ix::distributed_ref<double> beside(int x, int y, int dx, int dy, side its) {
    const int nt = r_.num_tiles(), i = x + dx, j = y + dy;
    if (i >= 0 && i < nt && j >= 0 && j < nt) return now_->edges(i, j, its);
    return boundary_(where_.rank_of(x, y));
  }
  /// A tile whose edges others wait for on another rank goes first.
  bool is_outer(int x, int y) const {
    const int nt = r_.num_tiles(), mine = where_.rank_of(x, y);
    return (x > 0 && where_.rank_of(x - 1, y) != mine) || (x + 1 < nt && where_.rank_of(x + 1, y) != mine) ||
           (y > 0 && where_.rank_of(x, y - 1) != mine) || (y + 1 < nt && where_.rank_of(x, y + 1) != mine);
  }
  void sweep(int x, int y) {
    ix::graph_task_options o{.name = "sweep", .priority = is_outer(x, y) ? 1 : 0};
    field &now = *now_, &next = *next_;
    const auto submit = [&](auto what) {
      g_.submit(o, what, r_.tile, now.cells(x, y), beside(x, y, -1, 0, east), beside(x, y, 1, 0, west),
                beside(x, y, 0, -1, north), beside(x, y, 0, 1, south), write(next.cells(x, y)),
                write(next.edges(x, y, west)), write(next.edges(x, y, east)), write(next.edges(x, y, south)),
                write(next.edges(x, y, north)));
    };
    if (r_.device < 0) return submit(&sweep_on_host);
    const auto kind = static_cast<ix::device_kind>(r_.device);
    if (!r_.on_host) o.on = kind;
    submit(ix::codelet{&sweep_on_host, &sweep_on_device, kind});
  }

  ix::task_graph& g_;
  const request r_;
  const blocks where_;
  ix::distributed<double> boundary_;
  field even_, odd_;
  field* now_ = &even_;
  field* next_ = &odd_;
};

double seconds_since(ix::clock::time_point start) {
  return std::chrono::duration<double>(ix::clock::now() - start).count();
}

ix::task<result> measure(ix::task_graph& g, request r) {
  stencil s(g, r);
  s.fill();
  result found;
  found.ranks = g.num_ranks();
  found.pes = ix::scheduler::current().num_pes() / g.num_ranks();
  for (int repeat = 0; repeat <= r.repeats; ++repeat) {
    co_await ix::barrier(g);
    const auto start = ix::clock::now();
    auto all = s.advance();
    co_await std::move(all);
    co_await ix::barrier(g);
    if (repeat > 0) found.seconds.push_back(seconds_since(start));
    found.steps_done += r.steps;
  }
  found.checked = r.verify;
  if (r.verify) {
    auto error = s.error_after(found.steps_done);
    found.error = co_await std::move(error);
  }
  co_await g.done();
  co_return found;
}

}  // namespace

ix::task<int> run_stencil(ix::runtime& rt, const options* o) {
  apps::check_output(o->report);
  const request r{
      o->n,       o->tile,    o->steps,  o->ahead,
      o->repeats, o->on_host, o->verify, o->on_devices ? static_cast<std::int8_t>(*o->on_devices) : std::int8_t{-1}};
  const result found = co_await ix::run_graph<&measure>(rt, r);
  if (!o->quiet) fmt::print("{}", text(*o, found));
  apps::write_output(o->report, report_json(*o, found));
  co_return found.checked && !found.verified() ? 1 : 0;
}

}  // namespace tiled_stencil
