# alone(FILE...): compiled by themselves also where a preset compiles eight files of a target as one (unity builds, in
# half the time): a name in their unnamed namespace is a neighbour's, too.
function(alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# One static library a folder. lockstep_library(NAME DEPS... [LINK external targets...]): every .cpp of the current
# folder (or of the folders IN), linked with lockstep_<dep>; includes are from the repository root.
include_guard()
find_package(Threads REQUIRED)

add_library(lockstep_flags INTERFACE)
target_compile_options(lockstep_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Werror)
if(NOT CMAKE_UNITY_BUILD)
  target_compile_options(lockstep_flags INTERFACE -Wshadow)
else()  # a neighbour's names are no shadow, and its unnamed namespace is of one file still
  target_compile_options(lockstep_flags INTERFACE
                         $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local -Wno-subobject-linkage>)
endif()
# g++ 12 sees overlaps and uninitialised bytes in std::string and std::variant when it optimises, where there are
# none (GCC bugs 105651 and 105562, fixed in 13).
target_compile_options(lockstep_flags INTERFACE
                       "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<NOT:$<CONFIG:Debug>>>:-Wno-restrict;-Wno-maybe-uninitialized>")
target_include_directories(lockstep_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_link_libraries(lockstep_flags INTERFACE Threads::Threads)
if(LOCKSTEP_SANITIZE)
  # A report needs lines and frames, no variables; unoptimised, and with a relocation for each of UBSan's data, the
  # build takes 6 GB of disk in place of 2. -Og: see above.
  target_compile_options(lockstep_flags INTERFACE -fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer
                                                  -fno-sanitize-recover=all -Og -g1 -gz -fno-pie
                                                  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(lockstep_flags INTERFACE -fsanitize=${LOCKSTEP_SANITIZE} -no-pie -gz)
endif()

function(lockstep_library name)
  cmake_parse_arguments(arg "" "" "IN;DEPS;LINK" ${ARGN})
  if(NOT arg_IN)
    set(arg_IN .)
  endif()
  list(TRANSFORM arg_IN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(TRANSFORM arg_IN APPEND /*.cpp)
  file(GLOB sources CONFIGURE_DEPENDS ${arg_IN})
  if(LOCKSTEP_MUTANTS)
    mutate_sources(sources)
  endif()
  if(NOT sources)
    add_library(lockstep_${name} INTERFACE)
    set(scope INTERFACE)
  else()
    add_library(lockstep_${name} STATIC ${sources})
    set(scope PUBLIC)
  endif()
  target_link_libraries(lockstep_${name} ${scope} lockstep_flags ${arg_LINK})
  foreach(dep ${arg_DEPS})
    target_link_libraries(lockstep_${name} ${scope} lockstep_${dep})
  endforeach()
endfunction()

# One test program a folder under tests/unit: every .cpp of it, with GoogleTest, linked with lockstep_<name>.
function(lockstep_unit_test name)
  cmake_parse_arguments(arg "" "" "DEPS;LINK;LABELS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(unit_${name} ${sources})
  target_compile_definitions(unit_${name} PRIVATE LOCKSTEP_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(unit_${name} PRIVATE lockstep_flags ${arg_LINK} GTest::gtest_main)
  foreach(dep ${arg_DEPS})
    target_link_libraries(unit_${name} PRIVATE lockstep_${dep})
  endforeach()
  add_test(NAME unit_${name} COMMAND unit_${name})
  set_tests_properties(unit_${name} PROPERTIES LABELS "fast;${arg_LABELS}" TIMEOUT 300)
endfunction()
