#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <string>

#include "unit/object/job.h"

namespace empty_proxy_test {

/// A proxy that was never assigned names nothing: an error that says so, whatever it is used for and whenever.
namespace {

namespace ix = imbrex;
using testing::HasSubstr;

struct anything : ix::chare<anything, ix::index1d> {
  void poke() {}
  int ask() { return 1; }
};
struct holder : ix::chare<holder> {
  void use() { kept.broadcast<&anything::poke>(); }
  ix::array_proxy<anything> kept;
};

template <class Use>
ix::task<int> first_act(ix::runtime&) {
  Use{}(ix::array_proxy<anything>());
  co_return 0;
}
template <class Use>
ix::task<int> later_act(ix::runtime& rt) {
  const auto real = rt.create_array<anything>(ix::index1d(3));
  co_await real[2].call<&anything::ask>();
  Use{}(ix::array_proxy<anything>());
  co_return 0;
}

struct by_send {
  void operator()(ix::array_proxy<anything> p) const { p[0].send<&anything::poke>(); }
};
struct by_broadcast {
  void operator()(ix::array_proxy<anything> p) const { p.broadcast<&anything::poke>(); }
};
struct by_insertion {
  void operator()(ix::array_proxy<anything> p) const { p.insert(1); }
};
struct by_section {
  void operator()(ix::array_proxy<anything> p) const { p.section({1, 2}); }
};
struct by_local {
  void operator()(ix::array_proxy<anything> p) const { static_cast<void>(p.local(0)); }
};

template <class Use>
void expect_error() {
  for (const auto& start : {&first_act<Use>, &later_act<Use>}) {
    for (const imbrex_test::job_shape& s : {imbrex_test::job_shape{1, 1}, {3, 1}, {1, 2}}) {
      const auto [code, errors] = imbrex_test::run_and_listen(s, start);
      EXPECT_NE(code, 0);
      EXPECT_THAT(errors, HasSubstr("an empty proxy was used, which names no chare"));
    }
  }
}

TEST(empty_proxy, cannot_be_sent_to) { expect_error<by_send>(); }
TEST(empty_proxy, cannot_be_broadcast_to) { expect_error<by_broadcast>(); }
TEST(empty_proxy, cannot_be_inserted_into) { expect_error<by_insertion>(); }
TEST(empty_proxy, has_no_sections) { expect_error<by_section>(); }
TEST(empty_proxy, has_no_local_element) { expect_error<by_local>(); }

ix::task<int> calls_nobody(ix::runtime&) {
  const ix::element_proxy<anything> nobody;
  try {
    const int n = co_await nobody.call<&anything::ask>();
    ADD_FAILURE() << n;
  } catch (const ix::usage_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("an empty proxy was used"));
  }
  const ix::array_proxy<anything> none;
  try {
    const int n = co_await none.reduction<int>();
    ADD_FAILURE() << n;
  } catch (const ix::usage_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("an empty proxy was used"));
  }
  co_return 0;
}

TEST(empty_proxy, makes_a_call_throw) { EXPECT_EQ(imbrex_test::run_job_with({2, 1}, calls_nobody), 0); }

ix::task<int> from_an_entry_method(ix::runtime& rt) {
  const auto h = rt.create<holder>();
  h.send<&holder::use>();
  co_await rt.quiescence();
  co_return 0;
}

TEST(empty_proxy, is_named_with_the_entry_method_that_uses_it) {
  const auto [code, errors] = imbrex_test::run_and_listen({2, 1}, from_an_entry_method);
  EXPECT_EQ(code, 70);
  EXPECT_THAT(errors, HasSubstr("holder::use of "));
  EXPECT_THAT(errors, HasSubstr("an empty proxy was used"));
}

}  // namespace

}  // namespace empty_proxy_test
