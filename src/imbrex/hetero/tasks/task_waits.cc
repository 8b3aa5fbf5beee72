#include "imbrex/hetero/tasks/task_waits.h"

#include <fmt/format.h>

#include "imbrex/hetero/graph/commuting.h"
#include "imbrex/hetero/tasks/hetero_domain.h"

namespace imbrex {

namespace {

bool blocks(const task_node& earlier, const task_node& later) {
  const task_edge* e = earlier.successors;
  while (e != nullptr && e->to != &later) e = e->next;
  return e != nullptr;
}

/// Somebody has to end it: a view that is there.
bool is_held(const task_node& t) { return t.is_view() && t.state == task_state::issued; }

/// What the task waits for; views first, since these end only if somebody ends them.
const task_node* blocker_of(const task_node& t) {
  const task_node* first = t.num_blockers == 0 ? whose_turn(t) : nullptr;
  for (const task_node* e = t.domain->first_outstanding(); e != nullptr; e = e->younger) {
    if (!blocks(*e, t)) continue;
    if (is_held(*e)) return e;
    if (first == nullptr) first = e;
  }
  return first;
}

bool overlap(const hetero_data& a, const hetero_data& b) {
  if (&a == &b) return true;
  return a.family != nullptr && a.family == b.family && overlap(a.member->where, b.member->where);
}

std::string about_view(const task_node& view, const task_node& waiting) {
  const hetero_data& seen = *view.accesses[0].data;
  std::size_t argument = 0;
  while (argument < waiting.num_accesses && !overlap(seen, *waiting.accesses[argument].data)) ++argument;
  return fmt::format("a view of its argument {}, {} bytes, is held: end it before", argument, seen.bytes);
}

}  // namespace

std::string how_far(const task_node& t) {
  std::string text = to_string(t.state);
  const task_node* at = &t;
  for (int depth = 0; depth < 8 && at->state == task_state::waiting; ++depth) {
    const task_node* const earlier = blocker_of(*at);
    if (earlier == nullptr) return text;
    if (is_held(*earlier)) return text + ": " + about_view(*earlier, *at);
    text += fmt::format(" behind task '{}', which is {}", earlier->wishes.name, to_string(earlier->state));
    at = earlier;
  }
  return text;
}

bool is_held_to_write(const hetero_data& d) {
  for (const task_node* e = d.domain->first_outstanding(); e != nullptr; e = e->younger) {
    if (is_held(*e) && writes(e->accesses[0].mode) && overlap(*e->accesses[0].data, d)) return true;
  }
  return false;
}

bool waits_for_view(const task_node& t) {
  const task_node* at = &t;
  for (int depth = 0; depth < 8 && at != nullptr && at->state == task_state::waiting; ++depth) {
    at = blocker_of(*at);
    if (at != nullptr && is_held(*at)) return true;
  }
  return false;
}

bool hetero_domain::has_stuck() const {
  if (num_in_progress_ > 0) return false;
  const task_node* t = first_outstanding_;
  while (t != nullptr && is_held(*t)) t = t->younger;
  return t != nullptr;
}

std::vector<std::string> hetero_domain::describe_stuck(std::size_t limit) const {
  std::vector<std::string> lines;
  if (!has_stuck()) return lines;
  std::size_t left_out = 0;
  for (const task_node* t = first_outstanding_; t != nullptr; t = t->younger) {
    if (t->state != task_state::waiting) continue;
    if (lines.size() < limit) {
      lines.push_back(fmt::format("task '{}' is {}", t->wishes.name, how_far(*t)));
    } else {
      ++left_out;
    }
  }
  if (left_out > 0) lines.push_back(fmt::format("and {} more tasks", left_out));
  return lines;
}

}  // namespace imbrex
