// Chares with buffers on GPUs that move, checkpoints of them while they do, and jobs that go on from these.
#include <gmock/gmock.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/base/hash.h"
#include "unit/checkpoint/live/job_with_checkpoints.h"
#include "unit/fake_gpu/cuda_fake.h"

namespace moving_checkpoints_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::size_t count = 2000;
constexpr int num_steps = 24;

/// What it knows of its step is on the GPU; it says at the end how often that was wrong.
struct keeper : chare<keeper, index1d> {
  keeper() : field_(on_device(), count) { streams().compute.fill(field_.data(), word(), count * sizeof(double)); }

  task<> run(int dies_at) {
    while (step_ < num_steps) {
      co_await streams().compute.done();
      check();
      ++step_;
      streams().compute.fill(field_.data(), word(), count * sizeof(double));
      co_await streams().compute.done();
      if (step_ == dies_at && index().x == 0) {
        for (int k = 0; !may_die(); ++k) {
          proxy().send<&keeper::again>(k);
          co_await again(k);
        }
        rt().exit(9);
      }
      const std::uint64_t r = mix(static_cast<std::uint64_t>(100 * step_ + index().x)) >> 8;
      if (r % 3 != 0) migrate_to(static_cast<int>(r / 3 % static_cast<std::uint64_t>(num_pes())));
      co_await checkpoint_point(*this);
      check();
    }
    contribute(errors_, sum);
  }
  when<int> again;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & step_ & errors_ & field_;
  }

 private:
  unsigned char word() const { return static_cast<unsigned char>(7 * step_ + index().x); }
  void check() {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(field_.data());  // the host's, as all of a fake
    errors_ += field_.size() != count || bytes[0] != word() || bytes[count * sizeof(double) - 1] != word();
    errors_ += field_.kind() != memory_kind::device || field_.on()->number() != on_device().number();
  }

  buffer<double> field_;
  int step_ = 0, errors_ = 0;
};

struct keepers {
  keepers() = default;
  explicit keepers(int step) : dies_at(step) {}
  int dies_at = 0;
  array_proxy<keeper> all;

  task<int> start(imbrex::runtime& rt) {
    all = rt.create_array<keeper>(index1d(7));
    auto rest = finish();
    co_return co_await rest;
  }
  task<int> restart(imbrex::runtime&) {
    dies_at = 0;
    auto rest = finish();
    co_return co_await rest;
  }
  task<int> finish() {
    all.broadcast<&keeper::run>(dies_at);
    auto errors = all.reduction<int>();
    co_return co_await errors;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & dies_at & all;
  }
};

int run_on_gpus(const job_shape& s, std::vector<std::string> options, int gpus, int dies_at) {
  fake_cuda::start({.gpus = gpus});
  options.emplace_back("--imbrex-device=cuda");
  const int code = run_program<keepers>(s, std::move(options), dies_at);
  EXPECT_THAT(fake_cuda::failures(), testing::IsEmpty());
  return code;
}

TEST(moving_checkpoints, keep_what_is_on_gpus) {
  const std::vector<job_shape> shapes{{4, 1, 3}, {2, 2, 5}, {3, 1, 7}, {1, 3, 11, 100}};
  for (const job_shape& s : shapes) {
    for (const int gpus : {1, 2}) {
      SCOPED_TRACE(to_text(s) + ", GPUs: " + std::to_string(gpus));
      folder_of_checkpoints at;
      may_die = [&at] { return at.has_any(); };
      const int code = run_on_gpus(s, {at.option(), "--imbrex-checkpoint-every=1"}, gpus, 13);
      may_die = [] { return true; };
      ASSERT_EQ(code, 9);
      for (const job_shape& t : shapes) {
        SCOPED_TRACE("restarted: " + to_text(t));
        EXPECT_EQ(run_on_gpus(t, {"--imbrex-restart=" + at.path()}, 3 - gpus, 0), 0);
      }
    }
  }
}

TEST(moving_checkpoints, are_kept_in_memory) {
  for (const job_shape& s : {job_shape{2, 2, 5}, {1, 3, 11}}) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run_on_gpus(s, {"--imbrex-checkpoint-memory=1"}, 2, 0), 0);
  }
}

}  // namespace

}  // namespace moving_checkpoints_test
