# What we use from outside, each as one interface target. Static where it is linked, so that an installed
# tree needs only the C library; CUDA libraries are never linked, only their headers are read.

find_package(Threads REQUIRED)

function(stax_need_file variable kind names hint)
  if(kind STREQUAL "library")
    find_library(${variable} NAMES ${names} ${ARGN})
  else()
    find_path(${variable} NAMES ${names} ${ARGN})
  endif()
  if(NOT ${variable})
    message(FATAL_ERROR "${names} is missing: run scripts/setup.sh, or install ${hint}")
  endif()
endfunction()

# xxhash: header only; its user defines XXH_INLINE_ALL.
stax_need_file(STAX_XXHASH_INCLUDE path xxhash.h libxxhash-dev)
add_library(stax_xxhash INTERFACE)

# HDF5: the shared one drags in thirty libraries, the static one three archives.
set(_hdf5_include_hints PATHS /usr/include/hdf5/serial)
set(_hdf5_library_hints PATHS /usr/lib/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu/hdf5/serial)
stax_need_file(STAX_HDF5_INCLUDE path hdf5.h libhdf5-dev ${_hdf5_include_hints})
stax_need_file(STAX_HDF5_LIBRARY library libhdf5.a libhdf5-dev ${_hdf5_library_hints})
stax_need_file(STAX_SZ_LIBRARY library libsz.a libaec-dev)
stax_need_file(STAX_AEC_LIBRARY library libaec.a libaec-dev)
stax_need_file(STAX_Z_LIBRARY library libz.a zlib1g-dev)
add_library(stax_hdf5 INTERFACE)
target_include_directories(stax_hdf5 SYSTEM INTERFACE ${STAX_HDF5_INCLUDE})
target_link_libraries(stax_hdf5 INTERFACE
  ${STAX_HDF5_LIBRARY} ${STAX_SZ_LIBRARY} ${STAX_AEC_LIBRARY} ${STAX_Z_LIBRARY} m ${CMAKE_DL_LIBS})

# jansson: JSON in and out, for tuner/ only.
stax_need_file(STAX_JANSSON_INCLUDE path jansson.h libjansson-dev)
stax_need_file(STAX_JANSSON_LIBRARY library libjansson.a libjansson-dev)
add_library(stax_jansson INTERFACE)
target_link_libraries(stax_jansson INTERFACE ${STAX_JANSSON_LIBRARY})

# CUDA headers: cuda.h, nvrtc.h and cupti.h, read by measure/ alone.
add_library(stax_cuda_headers INTERFACE)
set(STAX_HAVE_CUDA_HEADERS 0)
if(STAX_CUDA)
  set(_cuda_roots ${CUDAToolkit_ROOT} $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda)
  find_path(STAX_CUDA_INCLUDE cuda.h PATHS ${_cuda_roots} PATH_SUFFIXES include NO_DEFAULT_PATH)
  find_path(STAX_NVRTC_INCLUDE nvrtc.h PATHS ${_cuda_roots} PATH_SUFFIXES include NO_DEFAULT_PATH)
  find_path(STAX_CUPTI_INCLUDE cupti.h PATHS ${_cuda_roots}
            PATH_SUFFIXES include extras/CUPTI/include NO_DEFAULT_PATH)
  if(STAX_CUDA_INCLUDE AND STAX_NVRTC_INCLUDE AND STAX_CUPTI_INCLUDE)
    set(STAX_HAVE_CUDA_HEADERS 1)
    target_include_directories(stax_cuda_headers SYSTEM INTERFACE
      ${STAX_CUDA_INCLUDE} ${STAX_NVRTC_INCLUDE} ${STAX_CUPTI_INCLUDE})
  endif()
endif()
target_compile_definitions(stax_cuda_headers INTERFACE
  STAX_HAVE_CUDA_HEADERS=${STAX_HAVE_CUDA_HEADERS})
if(STAX_HAVE_CUDA_HEADERS)
  message(STATUS "CUDA headers: ${STAX_CUDA_INCLUDE}")
else()
  message(STATUS "CUDA headers: none, cpu only (set CUDA_HOME to a toolkit with cuda.h, nvrtc.h, cupti.h)")
endif()
