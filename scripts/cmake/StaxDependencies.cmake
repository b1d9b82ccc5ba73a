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

# stax_static_archive(NAME ARCHIVE): interface target NAME for a copy of ARCHIVE that a shared library can
# link (hidden_stdio.c says why, and joins each copy).
find_program(STAX_OBJCOPY NAMES objcopy REQUIRED)
add_library(stax_hidden_stdio OBJECT ${CMAKE_SOURCE_DIR}/scripts/cmake/hidden_stdio.c)
target_link_libraries(stax_hidden_stdio PRIVATE stax_flags)

function(stax_static_archive name archive)
  set(copy ${CMAKE_BINARY_DIR}/archive/lib${name}.a)
  add_custom_command(OUTPUT ${copy}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/archive
    COMMAND ${STAX_OBJCOPY} --redefine-sym stdin=stax_hidden_stdin
            --redefine-sym stdout=stax_hidden_stdout --redefine-sym stderr=stax_hidden_stderr
            ${archive} ${copy}
    COMMAND ${CMAKE_AR} qs ${copy} $<TARGET_OBJECTS:stax_hidden_stdio>
    DEPENDS ${archive} stax_hidden_stdio $<TARGET_OBJECTS:stax_hidden_stdio>
    COMMENT "Copying ${archive}" VERBATIM)
  add_custom_target(${name}_archive DEPENDS ${copy})
  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}_archive)
  target_link_libraries(${name} INTERFACE ${copy})
endfunction()

# HDF5: the shared one drags in thirty libraries. The static one asks for libcurl and libcrypto only in its
# S3 driver (H5FDros3.o, H5FDs3comms.o), whose archive members nothing of ours pulls in.
set(_hdf5_include_hints PATHS /usr/include/hdf5/serial)
set(_hdf5_library_hints PATHS /usr/lib/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu/hdf5/serial)
stax_need_file(STAX_HDF5_INCLUDE path hdf5.h libhdf5-dev ${_hdf5_include_hints})
stax_need_file(STAX_HDF5_LIBRARY library libhdf5.a libhdf5-dev ${_hdf5_library_hints})
stax_need_file(STAX_SZ_LIBRARY library libsz.a libaec-dev)
stax_need_file(STAX_AEC_LIBRARY library libaec.a libaec-dev)
stax_need_file(STAX_Z_LIBRARY library libz.a zlib1g-dev)
stax_static_archive(stax_hdf5 ${STAX_HDF5_LIBRARY})
target_include_directories(stax_hdf5 SYSTEM INTERFACE ${STAX_HDF5_INCLUDE})
target_link_libraries(stax_hdf5 INTERFACE
  ${STAX_SZ_LIBRARY} ${STAX_AEC_LIBRARY} ${STAX_Z_LIBRARY} m ${CMAKE_DL_LIBS} Threads::Threads)

# jansson: JSON in and out, for tuner/ and for the recordings that results/ imports.
stax_need_file(STAX_JANSSON_INCLUDE path jansson.h libjansson-dev)
stax_need_file(STAX_JANSSON_LIBRARY library libjansson.a libjansson-dev)
stax_static_archive(stax_jansson ${STAX_JANSSON_LIBRARY})

# XGBoost: the header only, read by search/ alone, which opens the library at run time and says so when it is
# absent. libxgboost-dev has it.
add_library(stax_xgboost_headers INTERFACE)
find_path(STAX_XGBOOST_INCLUDE xgboost/c_api.h)
if(STAX_XGBOOST_INCLUDE)
  target_include_directories(stax_xgboost_headers SYSTEM INTERFACE ${STAX_XGBOOST_INCLUDE})
  target_compile_definitions(stax_xgboost_headers INTERFACE STAX_HAVE_XGBOOST=1)
else()
  target_compile_definitions(stax_xgboost_headers INTERFACE STAX_HAVE_XGBOOST=0)
  message(STATUS "XGBoost's header: none, strategy model ranks by its forest (install libxgboost-dev)")
endif()

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
