#include "process_domain.h"

#include <functional>

#include "wait.h"

namespace imbrex_python {

namespace {
ix::executor* first_of_process(ix::executor& pe) {
  return pe.pe_of_process != nullptr ? pe.pe_of_process(pe, 0) : nullptr;
}
}  // namespace

bool of_all_pes<bytes_object>::is_usable_here(const bytes_object& o) {
  ix::executor* const pe = ix::executor::current();
  ix::hetero_domain& d = *o.domain();
  if (pe == nullptr || (pe != &d.pe() && pe->visits == nullptr) || first_of_process(*pe) != &d.pe()) return false;
  if (d.visits() == nullptr) return false;
  if (pe == &d.pe()) d.see_visitors();
  return true;
}

ix::hetero_domain& domain_handle::here() const {
  check_in_job();
  if (job_ != job_number()) throw ix::usage_error("this domain belongs to a job that has ended");
  if (first_of_process(*ix::executor::current()) != &domain_->pe())
    throw ix::usage_error("this domain belongs to another process: each has one of its own");
  return *domain_;
}

namespace {

ix::task<value> domain_of_process() {
  ix::process_domain asked;
  ix::hetero_domain& d = co_await asked;
  const with_python here;
  co_return value(nb::cast(domain_handle(d)));
}
ix::task<value> until(std::function<ix::domain_wait()> begin) {
  auto waiting = begin();
  co_await waiting;
  co_return value();
}

}  // namespace

void bind_process_domain(nb::module_& m) {
  nb::class_<domain_handle>(m, "Domain",
                            "Objects and tasks that all PEs of a process use: `await imbrex.process_domain()`.")
      .def(
          "all_over",
          [](const domain_handle& d) {
            ix::hetero_domain* const domain = &d.here();
            return std::make_shared<wait>([domain] { return until([domain] { return domain->all_over(); }); });
          },
          "`await all.all_over()`: until all tasks are over that the PEs have submitted by now. Throws a failure that "
          "nobody has been told of.")
      .def(
          "fewer_than",
          [](const domain_handle& d, std::uint64_t n) {
            ix::hetero_domain* const domain = &d.here();
            if (n == 0) throw ix::usage_error("fewer tasks than 0: give at least 1, or await all_over()");
            return std::make_shared<wait>([domain, n] { return until([domain, n] { return domain->fewer_than(n); }); });
          },
          nb::arg("n"), "`await all.fewer_than(n)`, between submissions: until fewer than `n` tasks are not over.");
  m.def("process_domain", [] {
    check_in_job();
    return std::make_shared<wait>([] { return domain_of_process(); }, "imbrex.process_domain()");
  });
}

}  // namespace imbrex_python
