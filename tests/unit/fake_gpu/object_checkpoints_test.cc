// Checkpoints of chares with coherent objects whose newest data are on GPUs, and jobs that go on from these.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "unit/checkpoint/live/job_with_checkpoints.h"
#include "unit/fake_gpu/cuda_fake.h"

namespace object_checkpoints_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::size_t count = 3000;
constexpr int num_steps = 8;

struct holder : chare<holder, index1d> {
  holder() : object_(count), other_(count) { write_objects(); }

  task<> run(int ends_at) {
    while (step_ < num_steps) {
      auto access = object_.host(access_mode::read);
      {
        const auto view = co_await access;
        errors_ += view.size() != count || view[0] != value() || view[count - 1] != value();
      }
      ++step_;
      write_objects();
      co_await checkpoint_point(*this);
      if (step_ == ends_at) break;
    }
    contribute(errors_, sum);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & step_ & errors_ & object_ & other_;
  }

 private:
  int value() const { return index().x + 100 * step_; }
  /// Where the newest data are then.
  void write_objects() {
    const auto fill = [x = value()](stream& s, int* at) { s.call("fill", [at, x] { std::fill_n(at, count, x); }); };
    submit({.on = device_kind::cuda}, fill, write(object_));
    submit({.on = device_kind::cuda}, fill, write(other_));
  }

  hetero_object<int> object_, other_;
  int step_ = 0, errors_ = 0;
};

struct holders {
  holders() = default;
  explicit holders(int step) : ends_at(step) {}
  int ends_at = 0;
  array_proxy<holder> all;

  task<int> start(imbrex::runtime& rt) {
    all = rt.create_array<holder>(index1d(7));
    auto rest = finish();
    co_return co_await rest;
  }
  task<int> restart(imbrex::runtime&) {
    ends_at = 0;
    auto rest = finish();
    co_return co_await rest;
  }
  task<int> finish() {
    all.broadcast<&holder::run>(ends_at);
    auto errors = all.reduction<int>();
    co_return co_await errors;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & ends_at & all;
  }
};

int run_on_gpus(const job_shape& s, std::vector<std::string> options, int gpus, int ends_at) {
  fake_cuda::start({.gpus = gpus});
  options.emplace_back("--imbrex-device=cuda");
  const int code = run_program<holders>(s, std::move(options), ends_at);
  EXPECT_THAT(fake_cuda::failures(), testing::IsEmpty());
  return code;
}

TEST(object_checkpoints, keep_what_is_on_gpus) {
  const std::vector<job_shape> shapes{{1, 1}, {4, 1, 3}, {2, 2, 5}, {1, 3, 11, 100}};
  for (const job_shape& s : shapes) {
    for (const int gpus : {1, 2}) {
      SCOPED_TRACE(to_text(s) + ", GPUs: " + std::to_string(gpus));
      folder_of_checkpoints at;
      ASSERT_EQ(run_on_gpus(s, {at.option(), "--imbrex-checkpoint-every=2"}, gpus, 4), 0);
      for (const job_shape& t : shapes) {
        SCOPED_TRACE("restarted: " + to_text(t));
        EXPECT_EQ(run_on_gpus(t, {"--imbrex-restart=" + at.path()}, 3 - gpus, 0), 0);
      }
    }
  }
}

TEST(object_checkpoints, are_kept_in_memory) {
  for (const job_shape& s : {job_shape{2, 2, 5}, {1, 3, 11}}) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run_on_gpus(s, {"--imbrex-checkpoint-memory=1"}, 2, 0), 0);
  }
}

}  // namespace

}  // namespace object_checkpoints_test
