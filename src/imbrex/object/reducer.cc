#include "imbrex/object/reducer.h"

#include <algorithm>

#include <fmt/format.h>

#include "imbrex/object/collection.h"
#include "imbrex/object/element.h"
#include "imbrex/object/scheduler.h"

namespace imbrex {

std::size_t reducer::num_local() const { return section_.whole_array() ? array_.here().size() : 0; }

reducer::slot& reducer::make_slot(std::uint32_t number) {
  if (slots_.empty()) first_ = number;
  auto fresh = [this](std::uint32_t n) {
    slot s;
    if (changing_ && section_.whole_array()) {
      for (const element_base* e : array_.here()) s.passed += e->next_reduction > n ? 1 : 0;
    }
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

std::uint64_t reducer::expected(std::uint32_t number) const {
  std::uint64_t n = expected_;
  for (const auto& [from, difference] : changes_) {
    if (from <= number) n += static_cast<std::uint64_t>(difference);
  }
  return n;
}

void reducer::advance(std::uint32_t number) {
  slot& s = slots_[number - first_];
  if (!s.value) return;
  const reduction_id r{array_.id(), section_, number};
  if (pe_.id() == root_) {
    if (s.value->count != expected(number)) return;
    std::unique_ptr<partial_base> whole = std::move(s.value);
    trim();
    note_complete(number);
    whole->deliver(pe_, r);
    hand_out();
    return;
  }
  const bool all_here = changing_ ? s.passed >= num_local() : s.value->count == expected_below_;
  if (!all_here) return;
  std::unique_ptr<partial_base> part = std::move(s.value);
  trim();
  part->pass_up(pe_, r, pe_.tree_parent(root_));
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
  while (!slots_.empty() && !slots_.front().value && (!changing_ || slots_.front().passed >= num_local())) {
    slots_.pop_front();
    ++first_;
  }
}

void reducer::element_came(const element_base& e) {
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
  if (changing_) return;
  changing_ = true;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].passed = 0;
    if (!section_.whole_array()) continue;
    for (const element_base* e : array_.here()) slots_[i].passed += e->next_reduction > first_ + i ? 1 : 0;
  }
  advance_all();
}

std::uint32_t reducer::element_born() {
  std::uint32_t first = completed_;
  for (const std::uint32_t n : ahead_) first = std::max(first, n + 1);
  changes_.emplace_back(first, 1);
  return first;
}

void reducer::element_died(std::uint32_t first_missing) {
  changes_.emplace_back(first_missing, -1);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::uint32_t number = first_ + static_cast<std::uint32_t>(i);
    if (number >= first_missing && slots_[i].value && slots_[i].value->count == expected(number)) {
      advance(number);
      i = static_cast<std::size_t>(-1);  // the list may have been trimmed: look again from its front
    }
  }
  // What is settled for good goes into the base count.
  std::erase_if(changes_, [this](const auto& c) {
    if (c.first > completed_) return false;
    expected_ += static_cast<std::uint64_t>(c.second);
    return true;
  });
}

// Reductions complete in order except when the network reorders partial values.
void reducer::note_complete(std::uint32_t number) {
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

std::string reducer::describe() const {
  std::string text;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].value) continue;
    const std::uint32_t number = first_ + static_cast<std::uint32_t>(i);
    text += fmt::format("{}reduction {} of {} has {} contributions{}", text.empty() ? "" : "; ", number,
                        array_.chare_name(), slots_[i].value->count,
                        pe_.id() == root_ ? fmt::format(" of {}", expected(number)) : std::string(" on this PE"));
  }
  return text;
}

}  // namespace imbrex
