#pragma once

#include "imbrex/async/activity.h"
#include "imbrex/hetero/submission/tasks.h"
#include "imbrex/hetero/tasks/open_task.h"
#include "imbrex/hetero/windows/task_window.h"

namespace imbrex_test {

/// An object that is lent (`read`) or received (`write`, held until `let_go`), as by who sends objects in messages.
struct open_use : imbrex::waiter {
  open_use(imbrex::hetero_domain& domain, imbrex::hetero_data& data, imbrex::access_mode mode) {
    home = &domain.pe();
    level = static_cast<std::int8_t>(imbrex::priorities::communication.value);
    act = [](work* w, imbrex::work_action) { static_cast<open_use*>(w)->told = true; };
    const bool receives = mode == imbrex::access_mode::write;
    task = imbrex::detail::open_task::submit(domain, data, mode, receives ? "receive" : "send", *this, receives);
    kept_ = imbrex::hetero_task(task);
  }

  imbrex::detail::open_task* task = nullptr;
  bool told = false;  ///< that it is open, or has failed

 private:
  imbrex::hetero_task kept_;
};

}  // namespace imbrex_test
