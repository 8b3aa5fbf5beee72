#include <algorithm>
#include <optional>

#include "imbrex/hetero/tasks/hetero_domain.h"
#include "runner.h"

#include "matrix_product.hk"

namespace dgemm {
namespace {

using object = ix::hetero_object<double>;

constexpr std::size_t input_bytes = std::size_t{128} << 20;  // of the host, about, for all inputs of a runner

/// A product has inputs of its own, so that they have to be copied to the device. When there are not enough for all
/// iterations, a pair is used again after its product is done and its copies at the device are gone.
class task_runner final : public runner {
 public:
  task_runner(const problem& p, std::vector<ix::device*> devices, const ix::hetero_options& how, int iterations)
      : problem_(p),
        devices_(std::move(devices)),
        domain_(std::make_unique<ix::hetero_domain>(*ix::executor::current(), *ix::scheduler::current().host, devices_,
                                                    how)) {
    const std::size_t fit = input_bytes / (2 * sizeof(double) * p.elements());
    const std::size_t least = 8 * devices_.size();
    pairs_.resize(
        std::min<std::size_t>(static_cast<std::size_t>(iterations), std::clamp<std::size_t>(fit, least, 256)));
    for (pair& each : pairs_) {
      each.a = object(*domain_, p.elements());
      each.b = object(*domain_, p.elements());
    }
  }

  ix::task<> prepare() override {
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      ix::submit(*domain_, on_host, &copy_scaled, address(problem_.a), 1.0, write(pairs_[i].a));
      auto filled = ix::submit(*domain_, on_host, &copy_scaled, address(problem_.b), factor_of(i), write(pairs_[i].b));
      co_await filled;
    }
    const bool small = problem_.n <= 256;
    auto once = work(static_cast<int>(small ? pairs_.size() : 2 * devices_.size()));
    co_await once;
  }

  ix::task<> work(int iterations) override {
    last_ = object();
    for (int i = 0; i < iterations; ++i) {
      const std::size_t number = static_cast<std::size_t>(i) % pairs_.size();
      pair& of = pairs_[number];
      if (static_cast<std::size_t>(i) >= pairs_.size()) {
        co_await of.product;
        take_away(of);
      }
      ix::device& at = *devices_[static_cast<std::size_t>(i) % devices_.size()];
      last_ = object(*domain_, problem_.elements());
      last_factor_ = factor_of(number);
      of.product = ix::submit(*domain_, {.name = "product", .on = at.kind(), .number = at.number()}, matrix_product,
                              problem_.shape(), problem_.n, of.a, of.b, write(last_));
    }
    for (pair& each : pairs_) {
      co_await each.product;
      take_away(each);
    }
  }

  ix::task<int> check() override {
    auto access = last_.host(ix::access_mode::read);
    const auto c = co_await access;
    co_return problem_.check.wrong_rows({c.data(), c.size()}, last_factor_);
  }

  ix::task<> close() override {
    last_ = object();
    pairs_.clear();
    for (const auto& p : domain_->places()) {
      if (p->is_host()) continue;
      std::vector<ix::lane*> lanes;
      p->for_each_lane([&](ix::lane& l) { lanes.push_back(&l); });
      for (ix::lane* l : lanes) {
        l->flush();
        auto done = (*l)->done();
        co_await done;
      }
    }
  }

 private:
  struct pair {
    object a, b;
    ix::hetero_task product;
  };
  static constexpr ix::task_options on_host{.name = "input", .on = ix::device_kind::host};

  static std::uintptr_t address(const std::vector<double>& m) { return reinterpret_cast<std::uintptr_t>(m.data()); }
  static void copy_scaled(std::uintptr_t from, double factor, std::span<double> to) {
    const auto* const source = reinterpret_cast<const double*>(from);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = factor * source[i];
  }
  static double factor_of(std::size_t pair_number) { return static_cast<double>(1 + pair_number % 7); }
  static void take_away(pair& of) {
    of.product = {};
    of.a.evict();
    of.b.evict();
  }

  const problem& problem_;
  const std::vector<ix::device*> devices_;
  const std::unique_ptr<ix::hetero_domain> domain_;
  std::vector<pair> pairs_;
  object last_;
  double last_factor_ = 1;
};

}  // namespace

ix::launch_shape problem::shape() const {
  const auto groups = static_cast<unsigned>(n / 16);
  return {.groups = {groups, groups}, .group = {16, 16}};
}

std::unique_ptr<runner> make_task_runner(const problem& p, std::vector<ix::device*> devices,
                                         const ix::hetero_options& how, int iterations) {
  return std::make_unique<task_runner>(p, std::move(devices), how, iterations);
}

}  // namespace dgemm
