# stax_module(NAME [EMBED] [TEXTS files...] [LINK targets...]): the static library stax_NAME of the current folder.
#
# Sources are *.c and */*.c, except main.c, cli*.c, worker_main.c and worker/ (they belong to programs), and
# except kernels/ and templates/, whose files are data: they are embedded as text, together with every
# .stax, .cu and .cuh of the folder and the TEXTS named, under their path inside it ("kernels/red_fused.stax").
set(STAX_MODULES "" CACHE INTERNAL "libraries that have sources")

function(stax_embed_texts table folder out_source)
  file(GLOB_RECURSE texts CONFIGURE_DEPENDS
    ${folder}/*.stax ${folder}/*.cu ${folder}/*.cuh ${folder}/kernels/* ${folder}/templates/*)
  list(APPEND texts ${ARGN})
  list(REMOVE_DUPLICATES texts)
  list(SORT texts)
  list(FILTER texts EXCLUDE REGEX "/\\.|~$|README")
  set(source ${STAX_GENERATED_DIR}/${table}.c)
  set(list_file ${STAX_GENERATED_DIR}/${table}.txt)
  string(REPLACE ";" "\n" lines "${texts}")
  file(CONFIGURE OUTPUT ${list_file} CONTENT "${lines}\n" @ONLY)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DTABLE=${table} -DFOLDER=${folder} -DLIST=${list_file}
            -DOUTPUT=${source} -P ${CMAKE_SOURCE_DIR}/scripts/cmake/EmbedText.cmake
    DEPENDS ${texts} ${list_file} ${CMAKE_SOURCE_DIR}/scripts/cmake/EmbedText.cmake
    COMMENT "Embedding ${table}" VERBATIM)
  set(${out_source} ${source} PARENT_SCOPE)
endfunction()

function(stax_module name)
  cmake_parse_arguments(arg "EMBED" "" "LINK;TEXTS" ${ARGN})
  list(TRANSFORM arg_TEXTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set(folder ${CMAKE_CURRENT_SOURCE_DIR})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c ${folder}/*/*.c)
  list(FILTER sources EXCLUDE REGEX "/${name}/(main|cli[^/]*|worker_main)\\.c$")
  list(FILTER sources EXCLUDE REGEX "/${name}/(worker|kernels|templates)/")
  if(NOT sources)
    message(STATUS "${name}: no sources yet")
    return()
  endif()
  if(arg_EMBED)
    stax_embed_texts(${name}_texts ${folder} embedded ${arg_TEXTS})
  endif()
  add_library(stax_${name} STATIC ${sources} ${embedded})
  target_link_libraries(stax_${name} PUBLIC stax_flags PRIVATE ${arg_LINK} Threads::Threads m ${CMAKE_DL_LIBS})
  add_dependencies(stax_${name} stax_build_id)
  set(STAX_MODULES ${STAX_MODULES} stax_${name} CACHE INTERNAL "libraries that have sources")
endfunction()

# Links every library that exists; a group, because archives of siblings meet only in tuner/.
function(stax_link_modules target)
  target_link_libraries(${target} PRIVATE stax_flags
    -Wl,--start-group ${STAX_MODULES} -Wl,--end-group)
endfunction()
