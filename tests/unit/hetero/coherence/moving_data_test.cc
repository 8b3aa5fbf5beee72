#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <numeric>

#include "unit/object/job.h"

namespace moving_data_test {

// Chares that hold buffers and objects move with them.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;

struct holder : ix::chare<holder, ix::index1d> {
  holder() = default;
  explicit holder(std::size_t size)
      : device_memory(on_device(), size), pinned(on_device(), size, ix::memory_kind::pinned) {
    std::iota(device_memory.data(), device_memory.data() + size, index().x);
    std::fill(pinned.data(), pinned.data() + size, 0.5F);
    object = ix::hetero_object<double>(size);
    unwritten = ix::hetero_object<int>(7);
    failing = ix::hetero_object<int>(3);
    some.resize(2);
    some[1] = ix::hetero_object<int>(size);
    ix::submit(
        {}, [](std::span<double> v, double to) { std::fill(v.begin(), v.end(), to); }, write(object),
        static_cast<double>(index().x));
    ix::submit({}, [](std::span<int> v) { std::fill(v.begin(), v.end(), 5); }, write(some[1]));
    ix::submit({.name = "bad"}, [](std::span<int>) { throw std::runtime_error("it broke"); }, write(failing));
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & device_memory & pinned & empty & object & unwritten & failing & nothing & some;
  }
  /// Tasks are under way on the object when it goes.
  void move() {
    for (int i = 0; i < 10; ++i) {
      ix::submit(
          {},
          [](std::span<double> v) {
            for (double& e : v) e += 1;
          },
          object);
    }
    migrate_to((pe() + 1) % num_pes());
  }
  ix::task<int> check(std::size_t size, int num_moved) {
    int wrong = device_memory.size() == size && pinned.size() == size && object.size() == size ? 0 : 1;
    wrong += device_memory.on() == &on_device() && device_memory.kind() == on_device().allocates() ? 0 : 1;
    wrong += pinned.kind() == ix::memory_kind::pinned && empty.size() == 0 && !nothing.exists() ? 0 : 1;
    for (std::size_t i = 0; i < size; ++i) {
      if (device_memory.data()[i] != index().x + static_cast<int>(i) || pinned.data()[i] != 0.5F) ++wrong;
    }
    {
      auto access = object.host(ix::access_mode::read);
      const auto view = co_await access;
      wrong += static_cast<int>(
          std::count_if(view.begin(), view.end(), [&](double v) { return v != index().x + 10 * num_moved; }));
    }
    {
      auto access = some[1].host(ix::access_mode::read);
      const auto view = co_await access;
      wrong += static_cast<int>(std::count_if(view.begin(), view.end(), [](int v) { return v != 5; }));
    }
    bool threw = false;
    try {
      auto access = failing.host(ix::access_mode::read);
      const auto view = co_await access;
    } catch (const ix::error& e) {
      threw = std::string(e.what()).find("it broke") != std::string::npos;
    }
    auto access = unwritten.host(ix::access_mode::write);
    const auto view = co_await access;
    co_return wrong + (threw ? 0 : 1) + (view.size() == 7 && !some[0].exists() ? 0 : 1);
  }

  ix::buffer<int> device_memory;
  ix::buffer<float> pinned;
  ix::buffer<char> empty;
  ix::hetero_object<double> object;
  ix::hetero_object<int> unwritten, failing, nothing;
  std::vector<ix::hetero_object<int>> some;
};

ix::task<int> move_and_check(ix::runtime& rt, std::size_t size) {
  constexpr int num = 6, rounds = 3;
  auto all = rt.create_array<holder>(ix::index1d(num), size);
  for (int r = 0; r < rounds; ++r) {
    for (int i = 0; i < num; ++i) all[i].send<&holder::move>();
    co_await rt.quiescence();
  }
  int wrong = 0;
  for (int i = 0; i < num; ++i) {
    const int of_one = co_await all[i].call<&holder::check>(size, rounds);
    wrong += of_one;
  }
  EXPECT_EQ(wrong, 0);
  co_return 0;
}
ix::task<int> small(ix::runtime& rt) { return move_and_check(rt, 16); }
ix::task<int> large(ix::runtime& rt) { return move_and_check(rt, 100'000); }

const std::vector<job_shape> shapes{{2, 1}, {4, 1}, {1, 2}, {2, 2}, {2, 2, 0, 150}, {1, 3, 9, 100}};

TEST(moving_data, of_few_bytes_is_the_same_elsewhere) {
  for (const job_shape& s : shapes) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run_job_with(s, small), 0);
  }
}
TEST(moving_data, of_many_bytes_is_the_same_elsewhere) {
  for (const job_shape& s : shapes) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run_job_with(s, large), 0);
  }
}

}  // namespace

}  // namespace moving_data_test
