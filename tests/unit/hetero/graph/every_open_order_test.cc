// Every order of events of objects that are lent and received, as in messages, beside tasks: that an object is let go
// or its use ends is one event among the others. As in every_order_test.cc.
#include "stepped_pe.h"

namespace every_open_order_test {

using namespace imbrex_test::stepped;

namespace {

constexpr deed on_x{x, x, false}, on_y{y, y, false};
constexpr step lend{on_x, 0, step_kind::lend}, evict{on_x, 0, step_kind::evict};
constexpr step from_host{on_x, 0, step_kind::receive_from_host}, from_device{on_x, 0, step_kind::receive_from_device};

constexpr std::uint64_t many = all < 2000 ? all : 2000;

/// Tasks on these at all places, besides.
std::vector<step> with_tasks(std::vector<step> steps, const std::vector<deed>& deeds, int num_devices) {
  for (int place = 0; place <= num_devices; ++place) {
    for (const deed& d : deeds) steps.push_back({d, place});
  }
  return steps;
}

TEST(every_open_order, submitted_in_between) {
  const auto steps = with_tasks({lend, from_host, from_device}, {on_x}, 1);
  run_steps({.devices = 1, .submitted_at_once = false, .host_at_once = false}, steps, 2, all);
  run_steps({.devices = 1, .submitted_at_once = false}, steps, 3, many);
}

TEST(every_open_order, of_three_steps) { run_steps({}, with_tasks({lend, from_host, from_device}, {on_x}, 2), 3, all); }

TEST(every_open_order, of_three_steps_with_another_object) {
  run_steps({}, with_tasks({lend, from_device}, {on_x, {x, y, false}}, 2), 3, many);
}

TEST(every_open_order, of_steps_that_evict) {
  const auto steps = with_tasks({lend, from_device, evict}, {on_x, on_y}, 2);
  run_steps({.elements_that_fit = elements}, steps, 3, some);
  run_steps({.submitted_at_once = false}, with_tasks({lend, from_device, evict}, {on_x}, 2), 3, many);
}

TEST(every_open_order, of_four_steps_on_one_device_with_too_little_room) {
  const auto steps = with_tasks({lend, from_device, evict}, {on_x, on_y}, 1);
  run_steps({.devices = 1, .elements_that_fit = elements}, steps, 4, some);
}

}  // namespace

}  // namespace every_open_order_test
