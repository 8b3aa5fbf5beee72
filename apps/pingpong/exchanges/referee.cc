#include "exchanges/referee.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <thread>

#include "exchanges/player.h"
#include "imbrex/base/build_config.h"
#include "plot.h"
#include "result.h"
#include "sizes.h"
#include "support/step_progress.h"
#if IMBREX_HAVE_MPI
#include "imbrex/comm/mpi/mpi_transport.h"
#endif
#if IMBREX_HAVE_UCX
#include "imbrex/comm/ucx/ucx_transport.h"
#endif

namespace pingpong {
namespace {

using players = ix::array_proxy<player>;

/// Player 0 on the first PE, player 1 on the last.
struct far_apart {
  int operator()(const ix::index1d& i, const ix::index1d&, int num_pes) const { return i.x == 0 ? 0 : num_pes - 1; }
};

/// Both players do it; player 0 tells the time, both tell what was wrong.
ix::task<outcome> on_both(players both, plan p) {
  auto first = both[0].call<&player::measure>(p);
  auto second = both[1].call<&player::measure>(p);
  auto measured = ix::when_all(std::move(first), std::move(second));
  const auto [a, b] = co_await std::move(measured);
  co_return outcome{a.ns, a.wrong + b.wrong};
}

ix::task<result> look_around(ix::runtime& rt, players both) {
  auto first = both[0].call<&player::where>();
  auto second = both[1].call<&player::where>();
  auto found = ix::when_all(std::move(first), std::move(second));
  const auto [a, b] = co_await std::move(found);
  result r;
  surroundings& w = r.where;
  w.ranks = rt.num_ranks();
  w.pes_per_rank = rt.pes_per_rank();
  w.transport = rt.transport_name();
  w.players_share_process = a.rank == b.rank;
  w.players_share_pe = a.pe == b.pe;
  w.gpus = a.gpu >= 0 && b.gpu >= 0;
  w.players_share_gpu = w.gpus && w.players_share_process && a.gpu == b.gpu;
  w.why_no_gpu = rt.why_no_gpu();
  w.mpi = a.mpi && b.mpi;
  w.mpi_takes_gpu_memory = a.mpi_takes_gpu_memory && b.mpi_takes_gpu_memory;
  w.ucx_takes_gpu_memory = a.ucx_takes_gpu_memory && b.ucx_takes_gpu_memory;
  if (w.gpus) r.gpus = {fmt::format("{} {}", a.gpu, a.gpu_name), fmt::format("{} {}", b.gpu, b.gpu_name)};
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) == 0) r.host = host;
  r.cores = static_cast<int>(std::thread::hardware_concurrency());
#if IMBREX_HAVE_MPI
  if (w.mpi) r.libraries.push_back(ix::mpi_library_description());
#endif
#if IMBREX_HAVE_UCX
  if (w.mpi) r.libraries.push_back(ix::ucx_library_description());
#endif
  co_return r;
}

void choose_modes(const options& o, result& r) {
  const std::vector<mode> wanted = o.modes.empty() ? std::vector<mode>(all_modes.begin(), all_modes.end()) : o.modes;
  for (const mode m : wanted) {
    if (std::string why = why_not(m, r.where); why.empty()) {
      r.run.push_back(m);
    } else {
      r.not_run.emplace_back(m, std::move(why));
    }
  }
}

/// All the measuring of one job.
class contest {
 public:
  contest(const options& o, result& r, players both) : o_(o), r_(r), both_(both), shown_(num_steps(), !o.quiet) {}

  ix::task<> hold() {
    for (const std::uint64_t bytes : o_.sizes) {
      auto one = hold_size(bytes);
      co_await one;
    }
    for (int i = 0; o_.rate && i < o_.repeats; ++i) {
      auto one = count_messages();
      co_await one;
    }
    shown_.finish();
  }

 private:
  int num_steps() const {
    return static_cast<int>(r_.run.size() * o_.sizes.size()) * (o_.repeats + 1) + (o_.rate ? o_.repeats : 0);
  }

  /// The first and the last round of every mode are checked; what lies between is timed, in turns.
  ix::task<> hold_size(std::uint64_t bytes) {
    const std::size_t first = r_.points.size();
    for (const mode m : r_.run) {
      shown_.step(fmt::format("{} {}, warm-up", size_text(bytes), name(m)));
      point p;
      p.by = m;
      p.bytes = bytes;
      auto warm = warm_up(&p);
      co_await warm;
      r_.points.push_back(std::move(p));
    }
    std::vector<std::int64_t> spent(r_.points.size(), 0);
    for (int repeat = 0; repeat < o_.repeats; ++repeat) {
      for (std::size_t i = first; i < r_.points.size(); ++i) {
        shown_.step(fmt::format("{} {}", size_text(bytes), name(r_.points[i].by)));
        if (takes_too_long(spent[i])) continue;
        auto timed = time(i);
        spent[i] += co_await timed;
      }
    }
    for (std::size_t i = first; i < r_.points.size(); ++i) {
      auto checked = check(r_.points[i].by, bytes);
      co_await checked;
    }
  }

  /// A point that takes three times its time and more is repeated less often.
  bool takes_too_long(std::int64_t spent_ns) const {
    return static_cast<double>(spent_ns) > 3e6 * o_.time_ms * o_.repeats * (o_.window > 0 ? 2 : 1);
  }

  ix::task<> check(mode m, std::uint64_t bytes) {
    const plan p{plan::kind::rally, m, bytes, 1, ++round_};
    auto played = on_both(both_, p);
    const outcome o = co_await played;
    if (o.wrong > 0) {
      r_.wrong.push_back(fmt::format("{} with {} bytes: {} of the {} bytes that came are wrong (round {})", name(m),
                                     bytes, o.wrong, 2 * bytes, round_));
    }
  }

  /// Finds out how many trips and windows fit into the time of a repeat.
  ix::task<> warm_up(point* p) {
    auto checked = check(p->by, p->bytes);
    co_await checked;
    double us = 0;
    for (int trips = 1, tries = 0; tries < 3 && us < o_.time_ms * 1e3; ++tries) {
      auto played = on_both(both_, plan{plan::kind::rally, p->by, p->bytes, trips, 0});
      const outcome o = co_await played;
      us = std::max(1e-3, static_cast<double>(o.ns) / 1e3 / trips);
      trips = times_that_fit(us, 0.3 * o_.time_ms, 100);
    }
    p->trips = times_that_fit(us, o_.time_ms, o_.max_trips);
    if (o_.window == 0) co_return;
    us = 0;
    for (int tries = 0; tries < 2 && us < o_.time_ms * 1e3; ++tries) {
      auto played = on_both(both_, plan{plan::kind::burst, p->by, p->bytes, 1, 0});
      const outcome o = co_await played;
      us = std::max(1e-3, static_cast<double>(o.ns) / 1e3);
    }
    p->rounds = times_that_fit(us, o_.time_ms, o_.max_trips);
  }

  /// One repeat; gives the nanoseconds it took.
  ix::task<std::int64_t> time(std::size_t i) {
    const mode m = r_.points[i].by;
    const std::uint64_t bytes = r_.points[i].bytes;
    const int trips = r_.points[i].trips;
    const int rounds = r_.points[i].rounds;
    auto rallied = on_both(both_, plan{plan::kind::rally, m, bytes, trips, 0});
    const outcome rally = co_await rallied;
    r_.points[i].one_way_us.push_back(static_cast<double>(rally.ns) / 1e3 / (2.0 * trips));
    if (rounds == 0) co_return rally.ns;
    auto passed = on_both(both_, plan{plan::kind::burst, m, bytes, rounds, 0});
    const outcome burst = co_await passed;
    r_.points[i].window_us.push_back(static_cast<double>(burst.ns) / 1e3 / (double{1} * rounds * o_.window));
    co_return rally.ns + burst.ns;
  }

  ix::task<> count_messages() {
    shown_.step("small messages");
    constexpr int count = 100'000;
    for (const auto kind : {plan::kind::ticks, plan::kind::ticks_together}) {
      auto passed = on_both(both_, plan{kind, mode::entry, 8, count, 0});
      const outcome o = co_await passed;
      const bool together = kind == plan::kind::ticks_together;
      (together ? r_.messages_together_per_second : r_.messages_per_second)
          .push_back(count * 1e9 / static_cast<double>(std::max<std::int64_t>(o.ns, 1)));
      if (o.wrong > 0) r_.wrong.push_back(fmt::format("{} small messages came, but not those sent", count));
    }
  }

  static int times_that_fit(double us, double ms, int most) {
    return static_cast<int>(std::clamp(std::floor(ms * 1e3 / us), 1.0, static_cast<double>(most)));
  }

  const options& o_;
  result& r_;
  const players both_;
  apps::step_progress shown_;
  std::uint64_t round_ = 0;
};

ix::task<> open_both(players both, equipment e) {
  auto first = both[0].call<&player::open>(e);
  auto second = both[1].call<&player::open>(e);
  auto opened = ix::when_all(std::move(first), std::move(second));
  co_await std::move(opened);
}

ix::task<> close_both(players both) {
  auto first = both[0].call<&player::close>();
  auto second = both[1].call<&player::close>();
  auto closed = ix::when_all(std::move(first), std::move(second));
  co_await std::move(closed);
}

}  // namespace

ix::task<int> referee(ix::runtime& rt, const options* o) {
  check_report_writable(*o);
  check_plot(*o);
  const players both = rt.create_array<player>(ix::placed(ix::index1d{2}, far_apart{}));
  auto looked = look_around(rt, both);
  result r = co_await looked;
  choose_modes(*o, r);
  if (!o->quiet) fmt::print("{}", header_text(*o, r));
  std::fflush(stdout);
  if (r.run.empty() && !o->rate) throw ix::usage_error("none of the modes asked for can run here: see above why");

  equipment e;
  e.modes = r.run;
  e.largest = o->sizes.back();
  e.window = o->window;
  e.chain = o->chain;
  auto opened = open_both(both, e);
  co_await opened;
  contest all(*o, r, both);
  auto held = all.hold();
  co_await held;
  auto closed = close_both(both);
  co_await closed;

  write_report(*o, r);
  if (!o->quiet) fmt::print("{}", tables_text(*o, r));
  std::fflush(stdout);
  for (const std::string& what : r.wrong) fmt::print(stderr, "pingpong: {}\n", what);
  co_return r.wrong.empty() ? 0 : 1;
}

}  // namespace pingpong
