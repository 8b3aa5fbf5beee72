// Rounds that are repeated until chares' values are enough: the same number of them, however they are done.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "imbrex/base/hash.h"
#include "imbrex/device/cuda/kernel_batch.h"
#include "unit/fake_gpu/cuda_fake.h"
#include "unit/object/job.h"

namespace repeat_until_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr int cells = 6, groups = 2;

/// A row of numbers that become alike, and how much the cells of each group have changed.
struct smoothing {
  const std::int64_t* now;
  std::int64_t* next;
  std::array<const std::int64_t*, 2> beside;
  std::array<std::int64_t*, 2> out;
  std::int64_t* change;
};

void smooth(const smoothing& t) {
  for (int g = 0; g < groups; ++g) t.change[g] = 0;
  for (int i = 0; i < cells; ++i) {
    const std::int64_t left = i > 0 ? t.now[i - 1] : t.beside[0] != nullptr ? *t.beside[0] : t.now[0];
    const std::int64_t right = i + 1 < cells ? t.now[i + 1] : t.beside[1] != nullptr ? *t.beside[1] : t.now[cells - 1];
    t.next[i] = (left + 2 * t.now[i] + right) / 4;
    t.change[i * groups / cells] += std::abs(t.next[i] - t.now[i]);
  }
  if (t.out[0] != nullptr) *t.out[0] = t.next[0];
  if (t.out[1] != nullptr) *t.out[1] = t.next[cells - 1];
}

void kernel(smoothing) {}

void define_kernels() {
  fake_cuda::define_kernel(reinterpret_cast<const void*>(&kernel), {sizeof(smoothing)},
                           [](dim3, dim3, void** a) { smooth(*static_cast<const smoothing*>(a[0])); });
}

std::int64_t initial(int chare, int cell) {
  return static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(chare * cells + cell)) % 1'000'000);
}

/// What a loop does.
struct expectation {
  int num_rounds = 0;
  std::uint64_t hash = 0;
};

std::uint64_t hash_of(const std::int64_t* v, int chare) {
  std::uint64_t hash = 0;
  for (int i = 0; i < cells; ++i)
    hash += mix(static_cast<std::uint64_t>(v[i]) + mix(static_cast<std::uint64_t>(chare * cells + i)));
  return hash;
}

class loop {
 public:
  explicit loop(int chares) : now_(static_cast<std::size_t>(chares * cells)) {
    for (int i = 0; i < chares * cells; ++i) now_[static_cast<std::size_t>(i)] = initial(i / cells, i % cells);
  }
  expectation go_on(int n, int every, std::int64_t little) {
    int last = n;
    for (int done = 1; done <= last; ++done) {
      const std::int64_t change = step();
      if (done >= 8 && done % every == 0 && last == n && change < little) last = std::min(n, done + every);
    }
    std::uint64_t hash = 0;
    for (std::size_t c = 0; c < now_.size(); c += cells) hash += hash_of(&now_[c], static_cast<int>(c) / cells);
    return {last, hash};
  }

 private:
  std::int64_t step() {
    std::vector<std::int64_t> next(now_.size());
    std::int64_t change = 0;
    for (std::size_t i = 0; i < now_.size(); ++i) {
      const std::int64_t left = now_[i > 0 ? i - 1 : i], right = now_[i + 1 < now_.size() ? i + 1 : i];
      next[i] = (left + 2 * now_[i] + right) / 4;
      change += std::abs(next[i] - now_[i]);
    }
    now_ = next;
    return change;
  }
  std::vector<std::int64_t> now_;
};

enum class how { graph, large, host_function, never_asks, apart };

struct row : chare<row, index1d> {
  row() { connect(); }
  explicit row(how h) : how_(h) {
    connect();
    for (auto& f : field_) f = buffer<std::int64_t>(on_device(), cells);
  }
  void connect() {
    for (const auto& n : neighbours(index(), extent())) {
      sides_.push_back(n.offset[0] < 0 ? 0 : 1);
      ends_.connect(*this, array(), n, 1);
    }
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & how_& field_[0] & field_[1] & now_ & ends_ & change_;
  }

  task<> begin() {
    stream& s = streams().compute;
    buffer<std::int64_t> host(on_device(), cells, memory_kind::pinned);
    for (int i = 0; i < cells; ++i) host.data()[i] = initial(index().x, i);
    s.copy(field_[0].data(), host.data(), cells * sizeof(std::int64_t));
    co_await ends_.begin(s);
    for (int k = 0; k < ends_.size(); ++k)
      s.copy(ends_.out(k).data, host.data() + (sides_[static_cast<std::size_t>(k)] == 0 ? 0 : cells - 1),
             sizeof(std::int64_t));
    co_await s.done();
    contribute(0, sum);
  }

  task<> round(int) {
    stream& s = streams().compute;
    ends_.send(s);
    co_await ends_.receive(s);
    co_await ends_.begin(s);
    smoothing t{field_[now_].data(), field_[now_ ^ 1].data(), {}, {}, unasked_.data()};
    if (how_ != how::never_asks) {
      t.change = change_.parts(s, groups);
    } else {
      unasked_ = buffer<std::int64_t>(on_device(), groups);
      t.change = unasked_.data();
    }
    for (std::size_t k = 0; k < sides_.size(); ++k) {
      t.beside[sides_[k]] = ends_.in(static_cast<int>(k)).data;
      t.out[sides_[k]] = ends_.out(static_cast<int>(k)).data;
    }
    if (s.on().kind() == device_kind::cuda) {
      detail::cuda_launch at(s, "smooth");
      void* places[] = {&t, nullptr};
      at.run(reinterpret_cast<const void*>(&kernel), dim3(how_ == how::large ? 100'000 : 1), dim3(128), 0,
             detail::values_of(&kernel, places));
    } else {
      s.call("smooth", [t] { smooth(t); });
    }
    ends_.release();
    now_ ^= 1;
    if (how_ == how::host_function) s.call("nothing", [] {});
    if (how_ == how::never_asks) co_await s.done();
  }

  task<> run(int n, int every, std::int64_t little) {
    if (how_ == how::apart) every += 2 * index().x;
    auto all =
        repeat(*this, n, &row::round, until(change_, sum, [little](std::int64_t c) { return c < little; }, every));
    const int done = co_await all;
    buffer<std::int64_t> seen(on_device(), cells, memory_kind::pinned);
    streams().compute.copy(seen.data(), field_[now_].data(), cells * sizeof(std::int64_t));
    co_await streams().compute.done();
    contribute(std::vector<std::uint64_t>{hash_of(seen.data(), index().x), static_cast<std::uint64_t>(done)}, sum);
  }
  void wander(std::uint64_t seed) {
    migrate_to(
        static_cast<int>(mix(seed + static_cast<std::uint64_t>(index().x)) % static_cast<std::uint64_t>(num_pes())));
  }

 private:
  how how_ = how::graph;
  std::array<buffer<std::int64_t>, 2> field_;
  std::size_t now_ = 0;
  halo<std::int64_t> ends_;
  std::vector<std::size_t> sides_;
  round_value<std::int64_t> change_;
  buffer<std::int64_t> unasked_;
};

struct burst {
  int n, every;
  std::int64_t little;
};

task<int> job(runtime& rt, how h, int chares, std::vector<burst> bursts, std::vector<expectation>* found) {
  const auto rows = rt.create_array<row>(index1d(chares), h);
  rows.broadcast<&row::begin>();
  co_await rows.reduction<int>();
  for (const burst& b : bursts) {
    rows.broadcast<&row::run>(b.n, b.every, b.little);
    const auto told = co_await rows.reduction<std::vector<std::uint64_t>>();
    found->push_back({static_cast<int>(told[1]) / chares, told[0]});
    rows.broadcast<&row::wander>(static_cast<std::uint64_t>(b.n));
    co_await rt.quiescence();
  }
  co_return 0;
}

struct repeated_until : testing::Test {
  repeated_until() { define_kernels(); }
  ~repeated_until() override { EXPECT_THAT(fake_cuda::failures(), testing::IsEmpty()); }
};

const std::vector<std::vector<burst>> cases{
    {{200, 20, 300'000}, {200, 20, 50'000}, {77, 6, 20'000}},
    {{100, 2, 400'000}, {31, 2, 0}, {9, 2, 1'000'000'000}, {200, 4, 30'000}},
    {{300, 100, 1'000'000'000}, {40, 8, 1'000'000'000}, {41, 40, 1'000'000'000}, {12, 2, 1'000'000'000}},
};

void expect_as_in_a_loop(const job_shape& s, how h, const std::string& device, int chares) {
  for (const std::vector<burst>& bursts : cases) {
    SCOPED_TRACE(to_text(s) + fmt::format(", way {}, {}, {} chares", static_cast<int>(h), device, chares));
    fake_cuda::start({.gpus = 2});
    std::vector<expectation> found;
    command_line line(s, {"--imbrex-device=" + device});
    ASSERT_EQ(run(line.count(), line.values(), job, h, chares, bursts, &found), 0);
    loop l(chares);
    ASSERT_EQ(found.size(), bursts.size());
    for (std::size_t i = 0; i < bursts.size(); ++i) {
      const expectation e = l.go_on(bursts[i].n, bursts[i].every, bursts[i].little);
      EXPECT_EQ(found[i].num_rounds, e.num_rounds) << "burst " << i;
      EXPECT_EQ(found[i].hash, e.hash) << "burst " << i;
    }
  }
}

TEST_F(repeated_until, as_many_rounds_as_in_a_loop_by_graphs) {
  for (const job_shape& s : {job_shape{1}, {2}, {5, 1, 9}}) {
    expect_as_in_a_loop(s, how::graph, "cuda", 7);
    EXPECT_GT(fake_cuda::calls_of("cudaGraphLaunch"), 2);
  }
}
TEST_F(repeated_until, as_many_rounds_as_in_a_loop_one_by_one) {
  for (const job_shape& s : {job_shape{1}, {3}, {1, 2}, {2, 3, 7}}) {
    expect_as_in_a_loop(s, how::large, "cuda", 5);
    expect_as_in_a_loop(s, how::host_function, "cuda", 5);
    expect_as_in_a_loop(s, how::graph, "host", 5);
  }
}

std::string refusal(how h, int every) {
  std::vector<expectation> found;
  fake_cuda::start();
  command_line line({1}, {"--imbrex-device=cuda"});
  testing::internal::CaptureStderr();
  EXPECT_NE(run(line.count(), line.values(), job, h, 3, std::vector<burst>{{40, every, 1}}, &found), 0);
  return testing::internal::GetCapturedStderr();
}

TEST_F(repeated_until, what_cannot_be_is_refused_by_name) {
  EXPECT_THAT(refusal(how::graph, 3), testing::HasSubstr("after each 3 rounds: let it be an even number"));
  EXPECT_THAT(refusal(how::graph, 0), testing::HasSubstr("after each 0 rounds"));
  EXPECT_THAT(refusal(how::never_asks, 8), testing::HasSubstr("no round has asked for memory"));
  EXPECT_THAT(refusal(how::apart, 8), testing::HasSubstr("after each 8 rounds for one chare and each 12 for another"));
}

}  // namespace

}  // namespace repeat_until_test
