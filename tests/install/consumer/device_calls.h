#pragma once

#include <imbrex/imbrex.h>

/// What of the calls that reach a device went wrong; empty when all arrived as they were made. Runs in a job of one PE.
imbrex::task<std::string> check_device_calls(imbrex::runtime& rt);
