#pragma once

/// Coherent objects and tasks on them, as a whole.
#include "imbrex/hetero/tasks/domain_wait.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/hetero/tasks/hetero_object.h"
#include "imbrex/hetero/tasks/hetero_task.h"
#include "imbrex/hetero/tasks/hetero_view.h"
#include "imbrex/hetero/tasks/submit.h"
