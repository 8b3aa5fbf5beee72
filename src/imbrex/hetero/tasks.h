#pragma once

/// Coherent objects and tasks on them, as a whole.
#include "imbrex/hetero/hetero_domain.h"
#include "imbrex/hetero/hetero_object.h"
#include "imbrex/hetero/hetero_task.h"
#include "imbrex/hetero/hetero_view.h"
#include "imbrex/hetero/submit.h"
#include "imbrex/hetero/task_window.h"
