#include "imbrex/device/opencl/opencl_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

struct named_status {
  cl_int status;
  const char* name;
};

#define IMBREX_NAMED(s) \
  named_status { s, #s }
constexpr std::array names{
    IMBREX_NAMED(CL_DEVICE_NOT_FOUND),
    IMBREX_NAMED(CL_DEVICE_NOT_AVAILABLE),
    IMBREX_NAMED(CL_COMPILER_NOT_AVAILABLE),
    IMBREX_NAMED(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    IMBREX_NAMED(CL_OUT_OF_RESOURCES),
    IMBREX_NAMED(CL_OUT_OF_HOST_MEMORY),
    IMBREX_NAMED(CL_BUILD_PROGRAM_FAILURE),
    IMBREX_NAMED(CL_MAP_FAILURE),
    IMBREX_NAMED(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    IMBREX_NAMED(CL_COMPILE_PROGRAM_FAILURE),
    IMBREX_NAMED(CL_LINKER_NOT_AVAILABLE),
    IMBREX_NAMED(CL_LINK_PROGRAM_FAILURE),
    IMBREX_NAMED(CL_INVALID_VALUE),
    IMBREX_NAMED(CL_INVALID_DEVICE_TYPE),
    IMBREX_NAMED(CL_INVALID_PLATFORM),
    IMBREX_NAMED(CL_INVALID_DEVICE),
    IMBREX_NAMED(CL_INVALID_CONTEXT),
    IMBREX_NAMED(CL_INVALID_QUEUE_PROPERTIES),
    IMBREX_NAMED(CL_INVALID_COMMAND_QUEUE),
    IMBREX_NAMED(CL_INVALID_HOST_PTR),
    IMBREX_NAMED(CL_INVALID_MEM_OBJECT),
    IMBREX_NAMED(CL_INVALID_BINARY),
    IMBREX_NAMED(CL_INVALID_BUILD_OPTIONS),
    IMBREX_NAMED(CL_INVALID_PROGRAM),
    IMBREX_NAMED(CL_INVALID_PROGRAM_EXECUTABLE),
    IMBREX_NAMED(CL_INVALID_KERNEL_NAME),
    IMBREX_NAMED(CL_INVALID_KERNEL_DEFINITION),
    IMBREX_NAMED(CL_INVALID_KERNEL),
    IMBREX_NAMED(CL_INVALID_ARG_INDEX),
    IMBREX_NAMED(CL_INVALID_ARG_VALUE),
    IMBREX_NAMED(CL_INVALID_ARG_SIZE),
    IMBREX_NAMED(CL_INVALID_KERNEL_ARGS),
    IMBREX_NAMED(CL_INVALID_WORK_DIMENSION),
    IMBREX_NAMED(CL_INVALID_WORK_GROUP_SIZE),
    IMBREX_NAMED(CL_INVALID_WORK_ITEM_SIZE),
    IMBREX_NAMED(CL_INVALID_GLOBAL_OFFSET),
    IMBREX_NAMED(CL_INVALID_EVENT_WAIT_LIST),
    IMBREX_NAMED(CL_INVALID_EVENT),
    IMBREX_NAMED(CL_INVALID_OPERATION),
    IMBREX_NAMED(CL_INVALID_BUFFER_SIZE),
    IMBREX_NAMED(CL_INVALID_GLOBAL_WORK_SIZE),
    IMBREX_NAMED(CL_INVALID_PROPERTY),
    IMBREX_NAMED(CL_INVALID_COMPILER_OPTIONS),
    IMBREX_NAMED(CL_INVALID_LINKER_OPTIONS),
    IMBREX_NAMED(CL_PLATFORM_NOT_FOUND_KHR),
};
#undef IMBREX_NAMED

}  // namespace

std::string opencl_error_text(cl_int status) {
  const auto found = std::ranges::find(names, status, &named_status::status);
  // NVIDIA's driver says so when a kernel reads or writes where nothing is.
  if (status == -9999) return "a kernel or copy used memory it must not (-9999)";
  return found != names.end() ? fmt::format("{} ({})", found->name, status) : fmt::format("error {}", status);
}

void check_opencl(cl_int status, const std::string& what) {
  if (status != CL_SUCCESS) throw device_error(fmt::format("{}: {}", what, opencl_error_text(status)));
}

}  // namespace imbrex
