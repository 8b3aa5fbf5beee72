#pragma once

/// The public interface of imbrex: what a program includes.
#include "imbrex/async/completion.h"
#include "imbrex/async/task.h"
#include "imbrex/async/when_all.h"
#include "imbrex/async/when_any.h"
#include "imbrex/base/error.h"
#include "imbrex/base/serialize.h"
#include "imbrex/device/run_ahead.h"
#include "imbrex/memory/copy.h"
#include "imbrex/object/channel.h"
#include "imbrex/object/chare.h"
#include "imbrex/object/map.h"
#include "imbrex/object/proxy.h"
#include "imbrex/object/reduction.h"
#include "imbrex/object/when.h"
#include "imbrex/runtime/readonly.h"
#include "imbrex/runtime/runtime.h"
