#include "imbrex/object/state/object_reading.h"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "imbrex/device/stream.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/hetero/tasks/task_waits.h"
#include "imbrex/object/data/object_loan.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex::detail {

namespace {

[[noreturn]] void throw_why_not(const std::exception_ptr& failure) {
  std::string why;
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    why = e.what();
  } catch (...) {
    why = "an exception of another type";
  }
  throw checkpoint_error(
      "no checkpoint can be made here: the task that was to write an object of a chare has failed: " + why);
}

}  // namespace

std::shared_ptr<object_reading> object_reading::begin(hetero_data& d) {
  if (&d.domain->pe() != &scheduler::current()) {
    throw checkpoint_error(
        "no checkpoint can be made here: an object of another PE, as one of all PEs of the process, is in the state of "
        "a "
        "chare: keep what it holds, and make it again in restart");
  }
  if (is_held_to_write(d)) {
    throw checkpoint_error(fmt::format(
        "no checkpoint can be made here: somebody holds a view of an object of a chare, {} bytes, and may write it: "
        "end it before",
        d.bytes));
  }
  std::shared_ptr<object_reading> r(new object_reading);
  prepare(*r, &told);
  r->reading_ = open_task::submit(*d.domain, d, access_mode::read, "checkpoint", *r);
  r->kept_ = hetero_task(r->reading_);
  r->until_told_ = r;
  if (waits_for_view(*r->reading_)) {
    throw checkpoint_error(fmt::format(
        "no checkpoint can be made here: reading an object of a chare is {}; at a checkpoint nobody writes it",
        how_far(*r->reading_)));
  }
  return r;
}

object_reading::~object_reading() {
  scheduler* const pe = scheduler::current_or_null();
  if (pe == nullptr || pe->stopping() || reading_ == nullptr) return;
  if (reading_->opened && !reading_->over()) reading_->end();
}

void object_reading::told(work* w, work_action action) {
  auto* const self = static_cast<object_reading*>(w);
  const std::shared_ptr<object_reading> alive = std::move(self->until_told_);
  if (action == work_action::run) self->come_.set();
}

stream* object_reading::give(saved_state::piece& to) {
  if (reading_->state == task_state::failed) throw_why_not(reading_->failure());
  stream* copied = nullptr;
  if (reading_->order != nullptr) {
    copied = give_from_device(to);
  } else {
    to.on_host.assign(reading_->memory, reading_->memory + reading_->use.data->bytes);
  }
  std::exchange(reading_, nullptr)->end();
  return copied;
}

stream* object_reading::give_from_device(saved_state::piece& to) {
  stream& s = *reading_->order;
  const std::size_t bytes = reading_->use.data->bytes;
  if (s.on().any_thread_reads()) {
    try {
      to.copy = buffer<std::byte>(s.on(), bytes);
      s.copy(to.copy.data(), reading_->memory, bytes);
      return &s;
    } catch (const out_of_memory&) {
      to.copy = {};
    }
  }
  to.on_host.resize(bytes);
  s.on().read_now(to.on_host.data(), reading_->memory, bytes, s.record());
  return nullptr;
}

}  // namespace imbrex::detail
