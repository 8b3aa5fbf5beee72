#include "chare_solver.h"

#include <fmt/format.h>
#include <imbrex/imbrex.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "chare_block.h"
#include "field_output.h"
#include "memory_check.h"
#include "progress.h"
#include "result.h"
#include "serial_reference.h"

namespace jacobi {
namespace {

namespace ix = imbrex;
using blocks_proxy = ix::array_proxy<block>;
using steady_clock = std::chrono::steady_clock;

/// Files whose temporaries vanish if the run ends without having committed them, however it ends.
class guarded_outputs {
 public:
  guarded_outputs(const options& o, const decomposition& blocks) : outputs_(o.outputs, blocks) { outputs_.create(); }
  ~guarded_outputs() {
    if (!committed_) outputs_.abandon();
  }
  guarded_outputs(const guarded_outputs&) = delete;
  guarded_outputs& operator=(const guarded_outputs&) = delete;
  bool empty() const { return outputs_.empty(); }
  void commit() {
    outputs_.commit();
    committed_ = true;
  }

 private:
  field_outputs outputs_;
  bool committed_ = false;
};

blocks_proxy create_blocks(ix::runtime& rt, const options& o, const decomposition& cut) {
  const ix::index3d extent{cut.cx(), cut.cy(), cut.cz()};
  if (o.map == map_kind::round_robin) return rt.create_array<block>(ix::placed(extent, ix::map::round_robin{}));
  return rt.create_array<block>(extent);
}

void check_host_memory(const ix::runtime& rt, const options& o, const decomposition& cut) {
  const auto ranks = static_cast<std::uint64_t>(rt.num_ranks());
  std::uint64_t needed = bytes_of_all_blocks(cut) / ranks * static_cast<std::uint64_t>(rt.num_local_ranks());
  if (o.verify) needed += serial_reference::bytes_needed(o.grid);
  check_memory(needed);
}

/// One repeat; its time and iterations go to `r`.
ix::task<> run_repeat(blocks_proxy blocks, const options* o, result* r, std::int64_t done_before) {
  blocks.broadcast<&block::prepare>(done_before);
  const std::string failures = co_await blocks.reduction<std::string>();
  if (!failures.empty()) throw ix::usage_error(failures.substr(0, failures.find('\n')));
  const steady_clock::time_point begin = steady_clock::now();
  blocks.broadcast<&block::iterate>(done_before + o->warm_up);
  const auto outcome = co_await blocks.reduction<repeat_outcome>();
  const double microseconds = std::chrono::duration<double, std::micro>(steady_clock::now() - begin).count();
  r->iterations = outcome.iterations;
  r->converged = outcome.converged;
  if (outcome.has_norm) r->change_norm = outcome.norm;
  if (outcome.iterations > 0) r->iteration_us.push_back(microseconds / static_cast<double>(outcome.iterations));
}

/// Computes the reference here and sends every block what it should hold, a few at a time.
ix::task<verification> verify(blocks_proxy blocks, const options* o, const decomposition* cut,
                              std::int64_t iterations) {
  serial_reference reference(*o);
  verification all{reference.run() == iterations, 0};
  for (std::int64_t n = 0; n < cut->num_blocks(); ++n) {
    const block_position p = cut->position(n);
    auto compared = blocks[ix::index3d{p.x, p.y, p.z}].call<&block::compare>(reference.copy_box(cut->cells(p)));
    const verification one = co_await std::move(compared);
    all = combine(all, one);
  }
  co_return all;
}

ix::task<> write_outputs(blocks_proxy blocks, guarded_outputs* outputs) {
  if (outputs->empty()) co_return;
  blocks.broadcast<&block::write>();
  const std::string failures = co_await blocks.reduction<std::string>();
  if (!failures.empty()) throw ix::config_error(failures.substr(0, failures.find('\n')));
  outputs->commit();
}

ix::task<int> start(ix::runtime& rt) {
  const options& o = *this_job.given;
  const decomposition cut = decomposition::of_least_surface(o.grid, chare_count(o, rt.num_pes()));
  result r;
  r.grid = o.grid;
  r.cx = cut.cx();
  r.cy = cut.cy();
  r.cz = cut.cz();
  r.pes = rt.pes_per_rank();
  r.ranks = rt.num_ranks();
  r.transport = rt.transport_name();
  r.impl = implementation::chare;
  r.warm_up = o.warm_up;
  check_report_writable(o);
  check_host_memory(rt, o, cut);
  guarded_outputs outputs(o, cut);
  if (!o.quiet) fmt::print("{}", header_text(o, r));
  std::fflush(stdout);

  const std::int64_t each = o.warm_up + o.iterations;
  progress shown(o.repeats * each, !o.quiet);
  this_job.shown = &shown;
  const blocks_proxy blocks = create_blocks(rt, o, cut);
  for (int repeat = 0; repeat < o.repeats; ++repeat) {
    auto one = run_repeat(blocks, &o, &r, repeat * each);
    co_await one;
  }
  shown.finish();
  this_job.shown = nullptr;

  blocks.broadcast<&block::hash>();
  r.field_hash = co_await blocks.reduction<std::uint64_t>();
  auto written = write_outputs(blocks, &outputs);
  co_await written;
  if (o.verify) {
    auto checked = verify(blocks, &o, &cut, r.iterations);
    r.verified = co_await checked;
  }
  write_report(o, r);
  if (!o.quiet) fmt::print("{}", summary_text(o, r));
  co_return exit_code(r);
}

}  // namespace

int run_chare_solver(int argc, char** argv, const options& o) {
  this_job.given = &o;
  std::vector<std::string> words(argv, argv + argc);
  if (o.pes > 0) words.push_back(fmt::format("--imbrex-pes={}", o.pes));
  if (!o.trace.empty()) words.push_back("--imbrex-trace=" + o.trace);
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& w : words) pointers.push_back(w.data());
  pointers.push_back(nullptr);
  return ix::run(static_cast<int>(words.size()), pointers.data(), &start);
}

}  // namespace jacobi
