# build_id.h: STAX_BUILD_ID, one string for all targets of a build, a hash of every source that the programs
# are made of. The library and the worker refuse each other when theirs differ. A hash of sources, not
# of a commit, because an edited tree is another program. Files that need it include "build_id.h".
set(_inputs "")
foreach(folder base codegen search measure results tuner)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS
    ${CMAKE_SOURCE_DIR}/${folder}/*.c ${CMAKE_SOURCE_DIR}/${folder}/*.h
    ${CMAKE_SOURCE_DIR}/${folder}/*.def ${CMAKE_SOURCE_DIR}/${folder}/*.cu
    ${CMAKE_SOURCE_DIR}/${folder}/*.cuh ${CMAKE_SOURCE_DIR}/${folder}/*.stax)
  list(APPEND _inputs ${found})
endforeach()
list(SORT _inputs)
string(REPLACE ";" "\n" _lines "${_inputs}")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/build_id_inputs.txt CONTENT "${_lines}\n" @ONLY)
add_custom_command(OUTPUT ${STAX_GENERATED_DIR}/build_id.h
  COMMAND ${CMAKE_COMMAND} -DLIST=${CMAKE_BINARY_DIR}/build_id_inputs.txt
          -DROOT=${CMAKE_SOURCE_DIR} -DVERSION=${PROJECT_VERSION}
          -DOUTPUT=${STAX_GENERATED_DIR}/build_id.h
          -P ${CMAKE_SOURCE_DIR}/scripts/cmake/BuildId.cmake
  DEPENDS ${_inputs} ${CMAKE_BINARY_DIR}/build_id_inputs.txt
          ${CMAKE_SOURCE_DIR}/scripts/cmake/BuildId.cmake
  COMMENT "Hashing sources into build_id.h" VERBATIM)
add_custom_target(stax_build_id DEPENDS ${STAX_GENERATED_DIR}/build_id.h)
