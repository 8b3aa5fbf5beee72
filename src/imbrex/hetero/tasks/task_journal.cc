#include "imbrex/hetero/tasks/task_journal.h"

#include "imbrex/hetero/tasks/hetero_domain.h"

namespace imbrex {

thread_local constinit task_journal* task_journal::current_ = nullptr;

void task_journal::submit(task_node& t, std::span<const hetero_task> after) {
  for (const hetero_task& earlier : after) after_.push_back(earlier.node());
  deeds_.push_back({deed::kind::submit, nullptr, &t, static_cast<std::uint32_t>(after.size())});
}

hetero_data* task_journal::slice(hetero_data& of, std::uint64_t offset, std::uint64_t bytes,
                                 std::size_t element_bytes) {
  hetero_data* const d = home_->copies().make(*home_, bytes);
  d->offset = offset;  // in `of`, until it is home
  d->element_bytes = static_cast<std::uint32_t>(element_bytes);
  deeds_.push_back({deed::kind::slice, d, nullptr, 0, &of});
  return d;
}

void task_journal::replay() {
  std::exception_ptr first;
  std::size_t num_before = 0;
  for (const deed& d : deeds_) {
    try {
      redo(d, std::span(after_).subspan(num_before, d.num_after));
    } catch (...) {
      if (first == nullptr) first = std::current_exception();
    }
    num_before += d.num_after;
  }
  if (first != nullptr) std::rethrow_exception(first);
}

void task_journal::redo(const deed& d, std::span<task_node* const> after) {
  switch (d.what) {
    case deed::kind::hold_object:
      ++d.data->references;
      ++d.data->handles;
      break;
    case deed::kind::give_up_object:
      --d.data->handles;
      home_->copies().release(d.data);
      break;
    case deed::kind::hold_task: ++d.task->references; break;
    case deed::kind::give_up_task: d.task->release(); break;
    case deed::kind::evict: home_->evict(*d.data->itself()); break;
    case deed::kind::submit: {
      const std::vector<hetero_task> handles(after.begin(), after.end());
      home_->submit(d.task, handles);
      break;
    }
    case deed::kind::slice: {
      hetero_data& of = *d.of->itself();
      hetero_data* const s = home_->copies().slice(of, d.data->offset, d.data->bytes, d.data->element_bytes);
      ++s->references;
      ++s->handles;
      d.data->stands_for = s;
      break;
    }
  }
}

}  // namespace imbrex
