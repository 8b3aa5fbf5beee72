// Every order of events, of all small graphs: after each submission, turn of the host, kernel, copy and notice of a
// device the test decides what happens next, and goes all the ways there are. The result is compared with sequential
// execution. Ways that differ in nothing but the order of what does not touch each other lead to the same state.
#include "stepped_pe.h"

namespace every_order_test {

using namespace imbrex_test::stepped;

namespace {

const std::vector<deed> on_two_objects{{x, x, false}, {x, y, false}, {y, x, true}};
const std::vector<deed> on_one_each{{x, x, false}, {y, y, false}};
const std::vector<deed> on_slices{{front, front, false}, {back, back, false}, {x, x, false}};
const std::vector<deed> between_slices{{front, back, false}, {y, front, true}, {x, y, false}};

TEST(every_order, of_two_tasks_submitted_in_between) {
  run_all({.devices = 1, .submitted_at_once = false, .host_at_once = false}, on_two_objects, 2, true, all);
  run_all({.submitted_at_once = false}, on_two_objects, 2, true, all);
}

TEST(every_order, of_three_tasks_on_two_objects) { run_all({}, on_two_objects, 3, true, all); }

TEST(every_order, of_four_tasks) {
  run_all({.devices = 1}, on_two_objects, 4, true, all);
  run_all({}, on_two_objects, 4, false, some);
}

TEST(every_order, of_tasks_that_evict) {
  run_all({.elements_that_fit = elements}, on_one_each, 3, true, all);
  run_all({.devices = 1, .elements_that_fit = elements}, on_one_each, 4, true, all);
}

TEST(every_order, of_tasks_that_take_no_stream_before_their_data_are_there) {
  run_all({.devices = 1, .submitted_at_once = false, .large_copies = true, .host_at_once = false}, on_two_objects, 2,
          true, all);
  run_all({.large_copies = true}, on_two_objects, 3, true, all);
  run_all({.elements_that_fit = elements, .large_copies = true}, on_one_each, 3, true, all);
  run_all({.large_copies = true}, between_slices, 3, true, some);
}

TEST(every_order, of_tasks_on_slices) {
  run_all({}, on_slices, 3, true, some);
  run_all({}, between_slices, 3, true, some);
}

TEST(every_order, of_tasks_on_slices_that_evict) {
  run_all({.devices = 1, .elements_that_fit = elements}, on_slices, 3, true, all);
  run_all({.elements_that_fit = elements}, on_slices, 3, true, some);
}

}  // namespace

}  // namespace every_order_test
