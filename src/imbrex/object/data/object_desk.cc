#include "imbrex/object/data/object_desk.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/hetero/tasks/open_task.h"
#include "imbrex/object/data/object_arrival.h"
#include "imbrex/object/data/object_loan.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex::detail {

namespace {
constexpr std::uint64_t packed_in_a_process = 4096;
}

object_failure object_failure::of(const std::exception_ptr& e) {
  try {
    std::rethrow_exception(e);
  } catch (const error& x) {
    return {x.kind(), x.what()};
  } catch (const std::exception& x) {
    return {"remote", x.what()};
  } catch (...) {
    return {"remote", "an exception that is no std::exception"};
  }
}

std::exception_ptr object_failure::thrown() const {
  try {
    throw_error(kind, what);
  } catch (...) {
    return std::current_exception();
  }
}

loan_share::~loan_share() {
  scheduler* const pe = scheduler::current_or_null();
  const std::uint64_t weight = weight_.load(std::memory_order_relaxed);
  if (pe == nullptr || pe->stopping() || weight == 0) return;
  pe->send(home_, loan_return{loan_, weight}, priorities::communication);
}

std::uint64_t loan_share::split() {
  std::uint64_t all = weight_.load(std::memory_order_relaxed);
  do {
    if (all < 2) throw comm_error("an object's message was passed on from process to process too often");
  } while (!weight_.compare_exchange_weak(all, all - all / 2, std::memory_order_relaxed));
  return all / 2;
}

object_parcel object_parcel::of(hetero_data& d) {
  scheduler& pe = scheduler::current();
  if (&d.domain->pe() != &pe) throw usage_error("an object of another PE was sent: its own PE has to do that");
  object_parcel p;
  const bool is_small =
      pe.mover != nullptr ? pe.mover->travels_packed(memory_kind::pinned, d.bytes) : d.bytes <= packed_in_a_process;
  if (d.bytes == 0) {
    p = packing(nullptr, 0);
  } else if (is_small && is_ready_on_host(d)) {
    p = packing(d.at(0).memory, d.bytes);
  } else {
    p.share_ = object_desk::of(pe).lend(d);
  }
  return p;
}

void loan_request::operator()(scheduler& at) const { object_desk::of(at).ask(*this); }
void loan_copy::operator()(scheduler& at) const { object_desk::of(at).copy(*this); }
void loan_copied::operator()(scheduler& at) const { object_desk::of(at).copied(arrival); }
void loan_answer::operator()(scheduler& pe) { object_desk::of(pe).answered(std::move(*this)); }
void loan_return::operator()(scheduler& at) const { object_desk::of(at).give_back(loan, weight); }

object_desk::object_desk(scheduler& pe) : pe_(pe) {}

object_desk::~object_desk() {
  for (const auto& [number, d] : exposed_) d->domain->copies().release(d);
}

object_desk& object_desk::of(scheduler& pe) {
  if (pe.objects == nullptr) pe.objects = std::make_unique<object_desk>(pe);
  return static_cast<object_desk&>(*pe.objects);
}

// ------------------------------------------------------------------------------------------------ exposing

std::uint64_t object_desk::expose(hetero_data& d) {
  if (&d.domain->pe() != &pe_) throw usage_error("an object of another PE cannot be exposed here");
  forget_dead_exposures();
  const auto found = numbers_.find(&d);
  if (found != numbers_.end()) return found->second;
  const std::uint64_t number = ++last_number_;
  ++d.references;
  exposed_.emplace(number, &d);
  numbers_.emplace(&d, number);
  return number;
}

hetero_data& object_desk::find(std::uint64_t exposure) {
  forget_dead_exposures();
  const auto found = exposed_.find(exposure);
  if (found == exposed_.end()) {
    throw usage_error(
        fmt::format("a put to or a get from object {} of PE {}, which does not exist any more: "
                    "keep a handle of it there as long as others use it",
                    exposure, pe_.id()));
  }
  return *found->second;
}

std::uint64_t object_desk::number_of(const hetero_data& d) const {
  const auto found = numbers_.find(&d);
  return found == numbers_.end() ? 0 : found->second;
}

namespace {
/// By number: reports say things in the order in which they began.
template <class Map>
std::vector<const typename Map::mapped_type::element_type*> in_order(const Map& all) {
  std::vector<const typename Map::mapped_type::element_type*> ordered;
  ordered.reserve(all.size());
  for (const auto& [number, what] : all) ordered.push_back(what.get());
  std::ranges::sort(ordered, {}, [](const auto* a) { return a->number; });
  return ordered;
}
std::string text_of(const object_of_graph& o) {
  return fmt::format("object {} of a graph's {}. distributed", o.index, o.set + 1);
}
}  // namespace

void object_desk::add_waits(const std::function<void(std::string)>& add) const {
  for (const loan* l : in_order(loans_)) {
    if (!l->reading->opened) continue;
    if (l->for_graph) {
      add(fmt::format("{} was sent to rank {}, where no task has been submitted that needs it", text_of(*l->for_graph),
                      l->for_graph->other));
    } else {
      add(fmt::format("an object of {} bytes was sent in a message, and has not been read",
                      l->reading->use.data->bytes));
    }
  }
  for (const arrival* a : in_order(arrivals_)) {
    if (a->from_graph && !a->parcel && a->why_not.kind.empty())
      add(fmt::format("{} is expected from rank {}, which has not sent it", text_of(*a->from_graph),
                      a->from_graph->other));
  }
}

void object_desk::forget_dead_exposures() {
  for (auto e = exposed_.begin(); e != exposed_.end();) {
    hetero_data* const d = e->second;
    if (d->references > 1) {
      ++e;
      continue;
    }
    numbers_.erase(d);
    e = exposed_.erase(e);
    d->domain->copies().release(d);
  }
}

}  // namespace imbrex::detail
