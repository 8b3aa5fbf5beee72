#include "imbrex/pe/exception_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <variant>

#include "unit/object/job.h"

namespace exception_types_test {

namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;

struct my_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct my_usage_error : ix::usage_error {
  using ix::usage_error::usage_error;
};
struct out_of_fuel : std::exception {
  out_of_fuel() = default;
  out_of_fuel(double left, std::string where) : litres(left), station(std::move(where)) {}
  const char* what() const noexcept override { return "out of fuel"; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & litres & station;
  }
  double litres = 0;
  std::string station;
};
struct unknown_here : my_error {
  using my_error::my_error;
};

const bool known = ix::register_exception<my_error>() && ix::register_exception<my_usage_error>("my_usage_error") &&
                   ix::register_exception<out_of_fuel>();

struct thrower : ix::chare<thrower, ix::index1d> {
  void one(int which) {
    switch (which) {
      case 0: throw std::out_of_range("the last page");
      case 1: throw std::invalid_argument("no such page");
      case 2: throw std::runtime_error("torn");
      case 3: throw std::overflow_error("too many");
      case 4: throw std::bad_alloc();
      case 5: throw std::bad_optional_access();
      case 6: throw std::system_error(std::make_error_code(std::errc::no_space_on_device), "page 7");
      case 7: throw std::system_error(EACCES, std::system_category());
      case 8: throw ix::comm_error("line is down");
      case 9: throw my_error("mine");
      case 10: throw my_usage_error("mine too");
      case 11: throw out_of_fuel(0.25, "Mainz");
      case 12: throw unknown_here("whose?");
      default: throw std::string("a text");
    }
  }
};

template <class E>
ix::task<std::optional<E>> catch_from(ix::element_proxy<thrower> from, int which) {
  try {
    co_await from.call<&thrower::one>(which);
  } catch (const E& e) {
    if (typeid(e) == typeid(E)) co_return e;
    ADD_FAILURE() << "a class derived from it came: " << e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "an error of another type: " << typeid(e).name() << ": " << e.what();
  }
  co_return std::nullopt;
}

template <class E>
ix::task<> expect_text(ix::element_proxy<thrower> from, int which, std::string what) {
  const std::optional<E> e = co_await catch_from<E>(from, which);
  EXPECT_TRUE(e.has_value()) << which;
  EXPECT_EQ(e ? e->what() : std::string(), what);
}

ix::task<int> all_types(ix::runtime& rt) {
  auto throwers = rt.create_group<thrower>();
  for (int pe = 0; pe < rt.num_pes(); ++pe) {
    const ix::element_proxy<thrower> one = throwers[pe];
    co_await expect_text<std::out_of_range>(one, 0, "the last page");
    co_await expect_text<std::invalid_argument>(one, 1, "no such page");
    co_await expect_text<std::runtime_error>(one, 2, "torn");
    co_await expect_text<std::overflow_error>(one, 3, "too many");
    co_await expect_text<std::bad_alloc>(one, 4, std::bad_alloc().what());
    co_await expect_text<std::bad_optional_access>(one, 5, std::bad_optional_access().what());
    co_await expect_text<ix::comm_error>(one, 8, "line is down");
    co_await expect_text<my_error>(one, 9, "mine");
    co_await expect_text<my_usage_error>(one, 10, "mine too");
    const auto space = co_await catch_from<std::system_error>(one, 6);
    EXPECT_TRUE(space && space->code() == std::errc::no_space_on_device);
    const std::system_error sent(std::make_error_code(std::errc::no_space_on_device), "page 7");
    EXPECT_STREQ(space ? space->what() : "", sent.what());
    const auto access = co_await catch_from<std::system_error>(one, 7);
    EXPECT_TRUE(access && access->code() == std::error_code(EACCES, std::system_category()));
    const auto fuel = co_await catch_from<out_of_fuel>(one, 11);
    EXPECT_TRUE(fuel && fuel->litres == 0.25 && fuel->station == "Mainz");
  }
  co_return 0;
}

TEST(exception_types, of_the_library_and_registered_ones_arrive_as_what_they_were) {
  imbrex_test::run_over_all_shapes(all_types);
}

ix::task<int> unregistered_type(ix::runtime& rt) {
  auto throwers = rt.create_group<thrower>();
  const ix::element_proxy<thrower> one = throwers[rt.num_pes() - 1];
  co_await expect_text<ix::remote_error>(one, 12, "whose?");
  co_await expect_text<ix::remote_error>(one, 13, "an exception that is no std::exception");
  co_return 0;
}

TEST(exception_types, others_arrive_as_a_remote_error_with_their_text) {
  EXPECT_EQ(imbrex_test::run_job_with({1, 2}, unregistered_type), 0);
}

TEST(exception_types, a_name_stands_for_one_type) {
  EXPECT_TRUE(ix::register_exception<my_error>());  // again: no harm
  EXPECT_THROW(ix::register_exception<unknown_here>("my_usage_error"), ix::usage_error);
  EXPECT_THROW(ix::register_exception<my_error>("another name"), ix::usage_error);
}

TEST(exception_types, a_name_that_is_not_known_here_gives_the_text) {
  ix::failure f;
  f.kind = "remote";
  f.what = "from afar";
  f.type = "never heard of";
  EXPECT_THROW(f.raise(), ix::remote_error);
}

}  // namespace

}  // namespace exception_types_test
