#pragma once

// The C interface of OpenCL as imbrex uses it: everywhere by this header, so that all ask for the same version.
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>      // IWYU pragma: export
#include <CL/cl_ext.h>  // IWYU pragma: export
