# Language, warnings, sanitizers and where built files go. Carried by the interface target stax_flags.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# The time of a run is spent in workers and on devices; -O3 would buy nothing here.
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/archive)

# One run path for the build folder and the installed tree: both have bin/ beside lib/.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib" "$ORIGIN")

set(STAX_GENERATED_DIR ${CMAKE_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${STAX_GENERATED_DIR})

add_library(stax_flags INTERFACE)
target_include_directories(stax_flags INTERFACE ${CMAKE_SOURCE_DIR} ${STAX_GENERATED_DIR})
target_compile_definitions(stax_flags INTERFACE _GNU_SOURCE $<$<CONFIG:Debug>:STAX_DEBUG=1>)
# No contraction: x*y+z must round twice in our own arithmetic, whatever machine compiled it, because
# the interpreter and the statistics are compared with stored answers.
# GCC cannot see that a result is set whenever its status is STAX_OK, and warns at -O2 of each such use.
# A truncated message is a message still, so snprintf into a fixed buffer is no warning.
target_compile_options(stax_flags INTERFACE
  -Wall -Wextra -Wpedantic "$<$<C_COMPILER_ID:GNU>:-Wno-format-truncation;-Wno-maybe-uninitialized>" -ffp-contract=off -ffunction-sections -fdata-sections
  $<$<BOOL:${STAX_WERROR}>:-Werror>)
target_link_options(stax_flags INTERFACE -Wl,--gc-sections)

if(STAX_SANITIZE)
  target_compile_options(stax_flags INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(stax_flags INTERFACE -fsanitize=address,undefined)
endif()
