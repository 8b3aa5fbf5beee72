#include <imbrex/base/build_config.h>

#include "job.h"
#include "proxies.h"
#include "signals.h"
#include "tasks/process_domain.h"
#include "tasks/recording.h"
#include "tasks/reductions.h"

NB_MODULE(_imbrex, m) {
  using namespace imbrex_python;
  nb::set_leak_warnings(false);  // a task in a global variable of the program is none
  m.attr("__version__") = IMBREX_VERSION;
  bind_job(m);
  bind_runtime(m);
  bind_signals(m);
  bind_proxies(m);
  bind_channels(m);
  bind_process_domain(m);
  bind_objects(m);
  bind_tasks(m);
  bind_reductions(m);
  bind_windows(m);
  bind_graphs(m);
  nb::register_exception_translator(
      [](const std::exception_ptr& e, void*) {
        try {
          std::rethrow_exception(e);
        } catch (const imbrex::usage_error& f) {
          PyErr_SetString(nb::module_::import_("imbrex").attr("UsageError").ptr(), f.what());
        } catch (const imbrex::error& f) {
          PyErr_SetString(nb::module_::import_("imbrex").attr("Error").ptr(), f.what());
        }
      },
      nullptr);
}
