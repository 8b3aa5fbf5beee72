#pragma once

/// Coherent objects and tasks on them, as a whole.
#include "imbrex/hetero/submission/hetero_grid.h"
#include "imbrex/hetero/submission/hetero_object.h"
#include "imbrex/hetero/submission/process_domain.h"
#include "imbrex/hetero/submission/reduction.h"
#include "imbrex/hetero/submission/submit.h"
#include "imbrex/hetero/tasks/domain_wait.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/hetero/tasks/hetero_task.h"
#include "imbrex/hetero/tasks/hetero_view.h"
