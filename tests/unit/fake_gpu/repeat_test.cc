// Rounds of chares that are recorded and done again as a graph (`repeat`), on GPUs that run the kernels on the CPU and
// a graph's operations in any order that its edges allow.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "imbrex/base/hash.h"
#include "imbrex/device/cuda/kernel_batch.h"
#include "unit/fake_gpu/cuda_fake.h"
#include "unit/object/job.h"

namespace repeat_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr int cells = 24;

/// A row of cells, of which each round makes others from them and those beside, and what goes to both sides.
struct sweep {
  const std::uint64_t* now;
  std::uint64_t* next;
  std::array<const std::uint64_t*, 2> beside;
  std::array<std::uint64_t*, 2> out;
  std::uint64_t round = 0;
};

void sweep_one(const sweep& t) {
  for (int i = 0; i < cells; ++i) {
    const std::uint64_t left = i > 0 ? t.now[i - 1] : t.beside[0] != nullptr ? *t.beside[0] : 1;
    const std::uint64_t right = i + 1 < cells ? t.now[i + 1] : t.beside[1] != nullptr ? *t.beside[1] : 2;
    t.next[i] = mix(t.now[i] + 3 * left + 5 * right + t.round);
  }
  if (t.out[0] != nullptr) *t.out[0] = t.next[0];
  if (t.out[1] != nullptr) *t.out[1] = t.next[cells - 1];
}

// What stands for the kernels: their addresses.
void single_kernel(sweep) {}
void batch_kernel(kernel_batch<sweep>) {}
void kernel_of_dialect(unsigned char, sweep, int) {}  // as one in a .hk file

void define_kernels() {
  fake_cuda::define_kernel(reinterpret_cast<const void*>(&single_kernel), {sizeof(sweep)},
                           [](dim3, dim3, void** a) { sweep_one(*static_cast<const sweep*>(a[0])); });
  fake_cuda::define_kernel(reinterpret_cast<const void*>(&kernel_of_dialect), {1, sizeof(sweep), sizeof(int)},
                           [](dim3, dim3, void** a) {
                             EXPECT_EQ(*static_cast<const unsigned char*>(a[0]), 7);
                             EXPECT_EQ(*static_cast<const int*>(a[2]), 1234567);
                             sweep_one(*static_cast<const sweep*>(a[1]));
                           });
  fake_cuda::define_kernel(reinterpret_cast<const void*>(&batch_kernel), {sizeof(kernel_batch<sweep>)},
                           [](dim3 grid, dim3, void** a) {
                             const auto& all = *static_cast<const kernel_batch<sweep>*>(a[0]);
                             if (all.many == nullptr) return sweep_one(all.one);
                             for (unsigned k = 0; k < grid.z / all.depth; ++k) sweep_one(all.many[k]);
                           });
}

enum class how {
  single,
  dialect,
  batch,
  stores,
  large,
  differs,
  awaits,
  awaits_late,
  other_stream,
  host_function,
  pageable,
  copies
};

struct row : chare<row, index1d> {
  row() { connect(); }
  void connect() {
    for (const auto& n : neighbours(index(), extent())) {
      sides_.push_back(n.offset[0] < 0 ? 0 : 1);
      ends_.connect(*this, array(), n, 1);
    }
  }
  explicit row(how h) : how_(h) {
    if (h == how::stores) ends_ = halo<std::uint64_t>(memory_kind::device, halo_path::store);
    connect();
    for (auto& f : field_) f = buffer<std::uint64_t>(on_device(), cells);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & how_& field_[0] & field_[1] & now_ & ends_ & num_called_ & num_poked_;
  }

  task<> begin() {
    stream& s = streams().compute;
    s.fill(field_[0].data(), static_cast<unsigned char>(index().x + 1), cells * sizeof(std::uint64_t));
    co_await ends_.begin(s);
    for (int i = 0; i < ends_.size(); ++i)
      s.fill(ends_.out(i).data, static_cast<unsigned char>(index().x + 1), sizeof(std::uint64_t));
    co_await s.done();
    contribute(0, sum);
  }

  task<> round(int i) {
    ++num_called_;
    stream& s = streams().compute;
    ends_.send(s);
    co_await ends_.receive(s);
    co_await ends_.begin(s);
    kernel_batch<sweep> all;
    all.one = {field_[now_].data(), field_[now_ ^ 1].data(), {}, {}};
    for (std::size_t k = 0; k < sides_.size(); ++k) {
      all.one.beside[sides_[k]] = ends_.in(static_cast<int>(k)).data;
      all.one.out[sides_[k]] = ends_.out(static_cast<int>(k)).data;
    }
    if (how_ == how::differs) all.one.round = static_cast<std::uint64_t>(i);
    if (how_ == how::dialect) {
      unsigned char first = 7;
      int last = 1234567;
      void* const arguments[] = {&first, &all.one, &last};
      detail::launch_function(s, "sweep", &kernel_of_dialect, launch_shape{}, arguments);
      ends_.release();
      now_ ^= 1;
      co_return;
    }
    detail::cuda_launch at(s, "sweep");
    void* single[] = {&all.one, nullptr};
    void* batch[] = {&all, nullptr};
    if (how_ == how::batch || how_ == how::stores) {
      at.run(reinterpret_cast<const void*>(&batch_kernel), dim3(1, 1, 2), dim3(1), 0,
             detail::values_of(&batch_kernel, batch), sizeof(sweep));
    } else {
      at.run(reinterpret_cast<const void*>(&single_kernel), dim3(how_ == how::large ? 100'000 : 1), dim3(128), 0,
             detail::values_of(&single_kernel, single));
    }
    ends_.release();
    now_ ^= 1;
    if (how_ == how::awaits || (how_ == how::awaits_late && i == 6)) co_await s.done();
    if (how_ == how::host_function) s.call("count", [this] { ++num_called_; });
    if (how_ == how::other_stream) {
      if (other_ == nullptr) {
        other_ = on_device().make_stream(stream_priority::low, "somebody's");
        other_->follows_nobody();
        elsewhere_ = buffer<std::uint64_t>(on_device(), 1);
      }
      other_->fill(elsewhere_.data(), 0, 8);
    }
    if (how_ == how::pageable) s.copy(&on_host_, field_[now_].data(), sizeof(on_host_));
    if (how_ == how::copies) {
      streams().to_host.after(s);
      streams().to_host.copy(field_[now_ ^ 1].data(), field_[now_].data(), cells * sizeof(std::uint64_t));
      s.after(streams().to_host);
    }
  }

  task<> run(int n, bool plainly) {
    if (plainly) {
      for (int i = 0; i < n; ++i) {
        auto r = round(i);
        co_await r;
      }
    } else {
      auto all = repeat(*this, n, &row::round);
      co_await all;
    }
    buffer<std::uint64_t> seen(on_device(), cells, memory_kind::pinned);
    streams().compute.copy(seen.data(), field_[now_].data(), cells * sizeof(std::uint64_t));
    co_await streams().compute.done();
    std::uint64_t hash = 0;
    for (int i = 0; i < cells; ++i) hash += mix(seen.data()[i] + static_cast<std::uint64_t>(cells * index().x + i));
    has_ended_ = true;
    contribute(hash, sum);
  }
  task<> run_apart(int n) {
    auto all = repeat(*this, n + index().x, &row::round);
    co_await all;
  }
  void count() { contribute(num_called_, max); }
  /// The cells lie elsewhere from now on.
  task<> lay_elsewhere() {
    former_.push_back(std::move(field_[now_ ^ 1]));
    field_[now_ ^ 1] = buffer<std::uint64_t>(on_device(), cells);
    contribute(0, sum);
    co_return;
  }
  void poke() { ++num_poked_; }
  void wander(std::uint64_t seed) {
    migrate_to(
        static_cast<int>(mix(seed + static_cast<std::uint64_t>(index().x)) % static_cast<std::uint64_t>(num_pes())));
  }
  void tell_ended() { contribute(has_ended_ ? 1 : 0, sum); }

 private:
  how how_ = how::single;
  std::array<buffer<std::uint64_t>, 2> field_;
  std::size_t now_ = 0;
  std::vector<buffer<std::uint64_t>> former_;
  halo<std::uint64_t> ends_;
  std::vector<std::size_t> sides_;
  std::uint64_t on_host_ = 0;
  buffer<std::uint64_t> elsewhere_;
  std::unique_ptr<stream> other_;
  int num_called_ = 0, num_poked_ = 0;
  bool has_ended_ = false;
};

struct outcome {
  std::uint64_t hash = 0;
  int num_called = 0;
};

task<int> job(runtime& rt, how h, int chares, std::vector<int> counts, bool plainly, outcome* told) {
  const auto rows = rt.create_array<row>(index1d(chares), h);
  rows.broadcast<&row::begin>();
  co_await rows.reduction<int>();
  for (const int n : counts) {
    rows.broadcast<&row::run>(n, plainly);
    told->hash = co_await rows.reduction<std::uint64_t>();
  }
  rows.broadcast<&row::count>();
  told->num_called = co_await rows.reduction<int>();
  co_return 0;
}

outcome run_rows(const job_shape& s, how h, int chares, const std::vector<int>& counts, bool plainly) {
  outcome told;
  command_line line(s, {"--imbrex-device=cuda"});
  EXPECT_EQ(run(line.count(), line.values(), job, h, chares, counts, plainly, &told), 0);
  return told;
}

struct repeated : testing::Test {
  repeated() { define_kernels(); }
  ~repeated() override { EXPECT_THAT(fake_cuda::failures(), testing::IsEmpty()); }
};

TEST_F(repeated, rounds_do_what_the_loop_does) {
  for (const job_shape& s : {job_shape{1}, {2}, {5, 1, 9}}) {
    for (const how h : {how::single, how::dialect, how::batch, how::stores, how::copies}) {
      for (const std::vector<int>& counts : {std::vector{41, 16}, {3, 150, 17}}) {
        SCOPED_TRACE(to_text(s) + fmt::format(", way {}, {} rounds", static_cast<int>(h), fmt::join(counts, ", ")));
        fake_cuda::start();
        const outcome plain = run_rows(s, h, 7, counts, true), graphs = run_rows(s, h, 7, counts, false);
        EXPECT_EQ(graphs.hash, plain.hash);
        EXPECT_LT(graphs.num_called, plain.num_called);
      }
    }
  }
}

TEST_F(repeated, kernels_of_a_gpu_are_launched_as_one) {
  const auto nodes = [](how h) {
    fake_cuda::start({.gpus = 2});
    run_rows({2}, h, 8, {44}, false);  // a graph of the 40 that follow
    return fake_cuda::calls_of("cudaGraphAddKernelNode");
  };
  EXPECT_EQ(nodes(how::single), 8 * 40);
  EXPECT_EQ(nodes(how::batch), 2 * 40);
}

TEST_F(repeated, rounds_take_no_launches) {
  const auto launches = [](int n) {
    fake_cuda::start();
    run_rows({2}, how::single, 6, {n}, false);
    return fake_cuda::calls_of("cudaLaunchKernel");
  };
  EXPECT_EQ(launches(104), launches(1004));
}

TEST_F(repeated, graphs_are_kept_for_the_next_time) {
  const auto graphs = [](const std::vector<int>& counts) {
    fake_cuda::start({.gpus = 2});
    run_rows({2}, how::batch, 6, counts, false);
    return fake_cuda::calls_of("cudaGraphInstantiateWithFlags");
  };
  const auto once = graphs({500}), odd_after = graphs({501});
  EXPECT_EQ(graphs({500, 500, 500, 500}), once);
  // After an odd number of rounds they begin with the other half of the memory.
  EXPECT_EQ(graphs({501, 501, 501, 501}), 2 * odd_after);
}

task<int> job_that_lays_elsewhere(runtime& rt, bool plainly, std::vector<std::uint64_t>* hashes) {
  const auto rows = rt.create_array<row>(index1d(5), how::batch);
  rows.broadcast<&row::begin>();
  co_await rows.reduction<int>();
  for (int again = 0; again < 7; ++again) {
    rows.broadcast<&row::run>(100 + again % 2, plainly);
    hashes->push_back(co_await rows.reduction<std::uint64_t>());
    if (again % 3 != 1) continue;
    rows.broadcast<&row::lay_elsewhere>();
    co_await rows.reduction<int>();
  }
  co_return 0;
}

TEST_F(repeated, graphs_of_other_memory_are_made_anew) {
  std::vector<std::uint64_t> plain, graphs;
  for (const bool plainly : {true, false}) {
    fake_cuda::start({.gpus = 2});
    command_line line({3}, {"--imbrex-device=cuda"});
    EXPECT_EQ(run(line.count(), line.values(), job_that_lays_elsewhere, plainly, plainly ? &plain : &graphs), 0);
  }
  EXPECT_EQ(graphs, plain);
}

TEST_F(repeated, rounds_that_differ_or_need_the_host_or_are_large_are_called) {
  for (const job_shape& s : {job_shape{1}, {3}}) {
    for (const how h : {how::differs, how::awaits, how::host_function, how::large}) {
      fake_cuda::start();
      const outcome plain = run_rows(s, h, 5, {50}, true), tried = run_rows(s, h, 5, {50}, false);
      EXPECT_EQ(tried.hash, plain.hash);
      EXPECT_EQ(tried.num_called, plain.num_called);
    }
  }
}

TEST_F(repeated, rounds_of_several_processes_are_called) {
  fake_cuda::start();
  const outcome one = run_rows({2, 1}, how::single, 6, {50}, true), two = run_rows({1, 2}, how::single, 6, {50}, false);
  EXPECT_EQ(two.hash, one.hash);
  EXPECT_EQ(two.num_called, 50);
}

std::string refusal(how h) {
  outcome told;
  fake_cuda::start();
  command_line line({1}, {"--imbrex-device=cuda"});
  testing::internal::CaptureStderr();
  EXPECT_NE(run(line.count(), line.values(), job, h, 3, std::vector<int>{40}, false, &told), 0);
  return testing::internal::GetCapturedStderr();
}

TEST_F(repeated, what_cannot_be_recorded_is_refused_by_name) {
  EXPECT_THAT(refusal(how::awaits_late), testing::HasSubstr("'done' was put into"));
  EXPECT_THAT(refusal(how::pageable), testing::HasSubstr("memory that is not pinned"));
  EXPECT_THAT(refusal(how::other_stream), testing::HasSubstr("not one of the chare's own streams"));
}

/// A job is not quiet while its chares' rounds are done by GPUs.
task<int> job_quiet(runtime& rt, int* num_done) {
  const auto rows = rt.create_array<row>(index1d(6), how::batch);
  rows.broadcast<&row::begin>();
  co_await rows.reduction<int>();
  rows.broadcast<&row::run>(2000, false);
  co_await rt.quiescence();
  rows.broadcast<&row::tell_ended>();
  co_await rows.reduction<std::uint64_t>();
  *num_done = co_await rows.reduction<int>();
  co_return 0;
}

TEST_F(repeated, rounds_are_under_way) {
  for (const job_shape& s : {job_shape{1}, {3}}) {
    fake_cuda::start();
    int num_done = 0;
    command_line line(s, {"--imbrex-device=cuda"});
    EXPECT_EQ(run(line.count(), line.values(), job_quiet, &num_done), 0);
    EXPECT_EQ(num_done, 6);
  }
}

/// Works on the same GPUs meanwhile, in streams of its own, and is heard of.
struct neighbour_job : chare<neighbour_job, index1d> {
  task<> work(int turns) {
    buffer<std::uint64_t> on_gpu(on_device(), cells), seen(on_device(), cells, memory_kind::pinned);
    int wrong = 0;
    for (int t = 0; t < turns; ++t) {
      stream& s = streams().compute;
      s.fill(on_gpu.data(), static_cast<unsigned char>(t), cells * sizeof(std::uint64_t));
      s.copy(seen.data(), on_gpu.data(), cells * sizeof(std::uint64_t));
      co_await s.done();
      wrong += seen.data()[cells - 1] != 0x0101010101010101ULL * static_cast<unsigned char>(t) ? 1 : 0;
      const int all = co_await allreduce(wrong, sum);
      wrong = all;
    }
    contribute(wrong, sum);
  }
};

/// Rows that repeat rounds move to other PEs between them, and get messages meanwhile; others work beside them.
task<int> job_among_others(runtime& rt, how h, std::uint64_t seed, bool plainly, std::uint64_t* hash) {
  const auto rows = rt.create_array<row>(index1d(7), h);
  const auto others = rt.create_array<neighbour_job>(index1d(5));
  rows.broadcast<&row::begin>();
  co_await rows.reduction<int>();
  for (std::uint64_t burst = 0; burst < 6; ++burst) {
    const auto n = static_cast<int>(mix(seed + burst) % 40);
    others.broadcast<&neighbour_job::work>(20);
    rows.broadcast<&row::run>(n, plainly);
    for (int i = 0; i < 20; ++i) rows.broadcast<&row::poke>();
    *hash = co_await rows.reduction<std::uint64_t>();
    EXPECT_EQ(co_await others.reduction<int>(), 0);
    rows.broadcast<&row::wander>(seed + burst);
    co_await rt.quiescence();
  }
  co_return 0;
}

TEST_F(repeated, rounds_go_on_among_other_work_and_after_moves) {
  for (const job_shape& s : {job_shape{2}, {4}, {5, 1, 11}}) {
    for (std::uint64_t seed = 1; seed < 5; ++seed) {
      const how h = seed % 3 == 0 ? how::batch : seed % 3 == 1 ? how::stores : how::copies;
      SCOPED_TRACE(to_text(s) + fmt::format(", seed {}", seed));
      std::uint64_t plain = 0, graphs = 0;
      for (const bool plainly : {true, false}) {
        fake_cuda::start({.gpus = 1 + static_cast<int>(seed % 3)});
        command_line line(s, {"--imbrex-device=cuda"});
        EXPECT_EQ(run(line.count(), line.values(), job_among_others, h, seed, plainly, plainly ? &plain : &graphs), 0);
      }
      EXPECT_EQ(graphs, plain);
    }
  }
}

task<int> job_apart(runtime& rt) {
  const auto rows = rt.create_array<row>(index1d(3), how::single);
  rows.broadcast<&row::begin>();
  co_await rows.reduction<int>();
  rows.broadcast<&row::run_apart>(20);
  co_await rt.quiescence();
  co_return 0;
}

TEST_F(repeated, another_number_of_rounds_is_refused) {
  fake_cuda::start();
  command_line line({1}, {"--imbrex-device=cuda"});
  testing::internal::CaptureStderr();
  EXPECT_NE(run(line.count(), line.values(), job_apart), 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("for 20 rounds by one chare and for 22"));
}

}  // namespace

}  // namespace repeat_test
