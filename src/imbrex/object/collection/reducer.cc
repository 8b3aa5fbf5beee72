#include "imbrex/object/collection/reducer.h"

#include <algorithm>

#include <fmt/format.h>

#include "imbrex/object/collection/collection.h"
#include "imbrex/object/collection/element.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex {

reducer::reducer(scheduler& pe, collection& array, section_id section, pe_id root)
    : pe_(pe),
      array_(array),
      section_(section),
      root_(root),
      num_begun_(chare_pe::of(pe).num_reductions_begun),
      in_tree_(section.whole_array()) {}

reducer::~reducer() {
  for (const slot& s : slots_) num_begun_ -= s.value != nullptr ? 1 : 0;
}

std::unique_ptr<partial_base> reducer::take(slot& s) {
  --num_begun_;
  return std::move(s.value);
}

std::size_t reducer::num_local() const { return section_.whole_array() ? array_.here().size() : 0; }

std::uint64_t reducer::num_past(std::uint32_t number) const {
  if (!section_.whole_array()) return 0;
  std::uint64_t n = 0;
  for (const element_base* e : array_.here()) n += e->next_reduction > number ? 1 : 0;
  return n;
}

reducer::slot& reducer::look_up(std::uint32_t number) {
  const std::uint32_t place = number - first_;
  last_ = place < slots_.size() ? &slots_[place] : &make_slot(number);
  last_number_ = number;
  return *last_;
}

reducer::slot& reducer::make_slot(std::uint32_t number) {
  untouched_ = std::max(untouched_, number + 1);
  if (slots_.empty()) first_ = number;
  auto fresh = [this](std::uint32_t n) {
    slot s;
    if (is_changing(n)) s.passed = num_past(n);
    return s;
  };
  while (number < first_) slots_.push_front(fresh(--first_));
  while (number - first_ >= slots_.size()) slots_.push_back(fresh(first_ + static_cast<std::uint32_t>(slots_.size())));
  return slots_[number - first_];
}

void reducer::expect(std::uint64_t below, std::uint64_t in_all) {
  expected_below_ = below;
  expected_ = in_all;
  awaited_ = pe_.id() == root_ ? in_all : below;
  advance_all();
}

void reducer::join_tree(pe_id parent, std::uint64_t below) {
  in_tree_ = true;
  parent_ = parent;
  expect(below, below);
}

void reducer::note_outside(pe_id pe) {
  if (std::find(outside_.begin(), outside_.end(), pe) == outside_.end()) outside_.push_back(pe);
}

std::uint64_t reducer::expected(std::uint32_t number) const {
  std::uint64_t n = expected_;
  for (const auto& [from, difference] : changes_) {
    if (from <= number) n += static_cast<std::uint64_t>(difference);
  }
  return n;
}

void reducer::change_expected(std::uint32_t from, std::int64_t difference) {
  num_since_change_ = 0;
  if (from <= completed_ && expected_ != not_yet_known) {
    expected_ += static_cast<std::uint64_t>(difference);
    return;
  }
  const auto known = std::find_if(changes_.begin(), changes_.end(), [&](const auto& c) { return c.first == from; });
  if (known != changes_.end()) {
    known->second += difference;
  } else {
    changes_.emplace_back(from, difference);
  }
}

// What holds for all reductions to come goes into the base count.
void reducer::apply_changes() {
  std::erase_if(changes_, [this](const auto& c) {
    if (c.first > completed_) return false;
    expected_ += static_cast<std::uint64_t>(c.second);
    return true;
  });
}

bool reducer::may_pass_up(const slot& s, std::uint32_t number) const {
  if (!in_tree_) return !waits_for_announcement_;
  return is_changing(number) ? s.passed >= num_local() : s.value->count == expected_below_;
}

void reducer::advance(std::uint32_t number) {
  slot& s = slots_[number - first_];
  if (!s.value) return;
  if (pe_.id() != root_) {
    if (may_pass_up(s, number)) pass_up(s, number);
    return;
  }
  if (!in_tree_ || s.value->count != expected(number)) return;
  std::unique_ptr<partial_base> whole = take(s);
  trim();
  note_complete(number);
  whole->deliver(pe_, {array_.id(), section_, number});
  hand_out();
  if (section_.whole_array()) array_.reduction_completed();
}

void reducer::pass_up(slot& s, std::uint32_t number) {
  std::unique_ptr<partial_base> part = take(s);
  trim();
  const reduction_id r{array_.id(), section_, number};
  if (!in_tree_) {
    part->pass_up(pe_, r, root_, pe_.id());
  } else {
    part->pass_up(pe_, r, section_.whole_array() ? pe_.tree_parent(root_) : parent_, no_pe);
  }
}

// Completing one may trim the list, so each number is looked up anew.
void reducer::advance_all() {
  const std::uint32_t from = first_;
  const auto n = static_cast<std::uint32_t>(slots_.size());
  for (std::uint32_t number = from; number < from + n; ++number) {
    if (number >= first_ && number - first_ < slots_.size()) advance(number);
  }
}

// Slots at the front that hold nothing and that no local element will add to.
void reducer::trim() {
  while (!slots_.empty() && !slots_.front().value && (!is_changing(first_) || slots_.front().passed >= num_local())) {
    if (last_ == &slots_.front()) last_ = nullptr;
    slots_.pop_front();
    ++first_;
  }
}

void reducer::note_arrival(const element_base& e) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (e.next_reduction > first_ + i) ++slots_[i].passed;
  }
}

void reducer::element_left(const element_base& e) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (e.next_reduction > first_ + i && slots_[i].passed > 0) --slots_[i].passed;
  }
  advance_all();
}

void reducer::set_changing() {
  if (is_changing()) return;
  const std::uint32_t before = std::exchange(fixed_from_, never);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::uint32_t number = first_ + static_cast<std::uint32_t>(i);
    if (number >= before) slots_[i].passed = num_past(number);
  }
  num_since_change_ = 0;
  advance_all();
}

void reducer::set_fixed(std::uint32_t from, std::uint64_t below) {
  fixed_from_ = from;
  expected_below_ = below;
  awaited_ = pe_.id() == root_ ? num_expected() : below;
}

std::uint32_t reducer::first_untouched() const {
  std::uint32_t first = untouched_;
  for (const element_base* e : array_.here()) first = std::max(first, e->next_reduction);
  return first;
}

std::uint32_t reducer::elements_born(std::uint64_t n) {
  std::uint32_t first = completed_;
  for (const std::uint32_t later : ahead_) first = std::max(first, later + 1);
  if (n > 0) change_expected(first, static_cast<std::int64_t>(n));
  return first;
}

void reducer::element_died(std::uint32_t first_missing) {
  change_expected(first_missing, -1);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::uint32_t number = first_ + static_cast<std::uint32_t>(i);
    if (number >= first_missing && slots_[i].value && slots_[i].value->count == expected(number)) {
      advance(number);
      i = static_cast<std::size_t>(-1);  // the list may have been trimmed: look again from its front
    }
  }
}

// Reductions complete in order except when the network reorders partial values.
void reducer::note_complete(std::uint32_t number) {
  ++num_since_change_;
  ahead_.push_back(number);
  for (auto at = ahead_.begin(); at != ahead_.end();) {
    if (*at == completed_) {
      ++completed_;
      ahead_.erase(at);
      at = ahead_.begin();
    } else {
      ++at;
    }
  }
  apply_changes();
}

void reducer::keep(std::uint32_t number, std::unique_ptr<result_base> result) {
  auto at = std::upper_bound(results_.begin(), results_.end(), number,
                             [](std::uint32_t n, const auto& r) { return n < r.first; });
  results_.emplace(at, number, std::move(result));
}

void reducer::ask(const reply_to& who, std::string wanted_type) {
  asked_.push_back({who, std::move(wanted_type)});
  hand_out();
}

// Results are handed out in the order of their numbers, none before all earlier reductions are complete.
void reducer::hand_out() {
  while (!asked_.empty() && !results_.empty() && results_.front().first < completed_) {
    const question asked = std::move(asked_.front());
    asked_.pop_front();
    const std::uint32_t number = results_.front().first;
    auto first = std::move(results_.front().second);
    results_.pop_front();
    if (asked.wanted_type != first->type_name()) {
      pe_.fail_job(fmt::format("reduction {} of {} gives {}, but was awaited as {}", number, array_.chare_name(),
                               first->type_name(), asked.wanted_type),
                   exit_code_failed_entry);
      return;
    }
    first->answer(pe_, asked.who);
  }
}

const wait_mobility reducer::all_waiter::follows{&may_leave, &leave, &arrive};
const wait_mobility reducer::all_waiter::follows_from_checkpoint_point{&may_leave, &leave, &arrive, true, false};
const wait_mobility reducer::all_waiter::follows_from_move_point{&may_leave, &leave, &arrive, false, true};

void reducer::all_waiter::leave(waiter& w, departure& d) {
  auto& self = static_cast<all_waiter&>(w);
  self.of->forget(&self);
  self.of->gone_.emplace_back(self.number, d.route());
  self.of = nullptr;
}

void reducer::all_waiter::arrive(waiter& w) {
  auto& self = static_cast<all_waiter&>(w);
  collection& part = *static_cast<const element_base*>(w.owner->of)->part;
  self.of = self.section.whole_array() ? &part.reductions() : &part.add_section(self.section).reductions;
  self.of->wait_for_all(&self);
}

std::vector<std::shared_ptr<const work_route>> reducer::take_gone(std::uint32_t number) {
  std::vector<std::shared_ptr<const work_route>> all;
  std::erase_if(gone_, [&](auto& g) {
    if (g.first != number) return false;
    all.push_back(std::move(g.second));
    return true;
  });
  return all;
}

void reducer::forget(all_waiter* w) {
  for (all_waiter** p = &waiting_; *p != nullptr; p = &(*p)->next_waiter) {
    if (*p != w) continue;
    *p = w->next_waiter;
    return;
  }
}

reducer::all_waiter* reducer::take_waiting(std::uint32_t number) {
  all_waiter* taken = nullptr;
  for (all_waiter** p = &waiting_; *p != nullptr;) {
    all_waiter* w = *p;
    if (w->number != number) {
      p = &w->next_waiter;
      continue;
    }
    *p = w->next_waiter;
    w->next_waiter = taken;
    taken = w;
  }
  return taken;
}

std::string reducer::of_how_many(std::uint32_t number) const {
  if (pe_.id() != root_) return " on this PE";
  return in_tree_ && expected_ != not_yet_known ? fmt::format(" of {}", expected(number)) : std::string();
}

std::string reducer::text_of(std::uint32_t number) const {
  return fmt::format("reduction {} of {}{}", number, section_.whole_array() ? "" : "a section of ",
                     array_.chare_name());
}

/// Which elements of this PE are to contribute yet, a few of them.
std::string reducer::missing_here(std::uint32_t number) const {
  if (!section_.whole_array()) return {};
  constexpr std::size_t few = 3;
  std::string names;
  std::size_t n = 0;
  for (const element_base* e : array_.here()) {
    if (e->next_reduction > number || ++n > few) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", array_.text(*e));
  }
  if (n == 0) return {};
  const std::string others = n > few ? fmt::format(" and {} others here", n - few) : std::string();
  return fmt::format(", none of {}{}", names, others);
}

std::string reducer::describe() const {
  std::string text;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].value) continue;
    const std::uint32_t number = first_ + static_cast<std::uint32_t>(i);
    const std::uint64_t count = slots_[i].value->count;
    text += fmt::format("{}{} has {} contribution{}{}{}", text.empty() ? "" : "; ", text_of(number), count,
                        count == 1 ? "" : "s", of_how_many(number), missing_here(number));
  }
  return text;
}

std::string reducer::what_is_under_way() const {
  if (std::string begun = describe(); !begun.empty()) return begun;
  if (!results_.empty()) return fmt::format("nobody has taken the result of reduction {}", results_.front().first);
  return "";
}

}  // namespace imbrex
