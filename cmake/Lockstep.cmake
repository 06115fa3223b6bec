# alone(FILE...): compiles these files separately even in unity builds (presets that compile sixteen files of a target
# as one, in less than half the time), because a name in their unnamed namespace is also in another file's.
function(alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# lockstep_library(NAME DEPS... [LINK external targets...]): one static library per folder, from every .cpp file of the
# current folder (or of the folders IN), linked with lockstep_<dep>. Includes are relative to the repository root.
include_guard()
find_package(Threads REQUIRED)

add_library(lockstep_flags INTERFACE)
target_compile_options(lockstep_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Werror)
if(NOT CMAKE_UNITY_BUILD)
  target_compile_options(lockstep_flags INTERFACE -Wshadow)
else()  # names of other files in the same unit cause false -Wshadow and -Wsubobject-linkage warnings
  target_compile_options(lockstep_flags INTERFACE
                         $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local -Wno-subobject-linkage>)
endif()
# With optimisation, g++ 12 warns of overlaps and uninitialised bytes in std::string and std::variant that do not exist
# (GCC bugs 105651 and 105562, fixed in 13).
target_compile_options(lockstep_flags INTERFACE
                       "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<NOT:$<CONFIG:Debug>>>:-Wno-restrict;-Wno-maybe-uninitialized>")
target_include_directories(lockstep_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_link_libraries(lockstep_flags INTERFACE Threads::Threads)
define_property(TARGET PROPERTY LOCKSTEP_IS_TEST INITIALIZE_FROM_VARIABLE LOCKSTEP_IS_TEST)
if(LOCKSTEP_SANITIZE)
  # Sanitizer reports need lines and frames, but no variables. Without optimisation, and with a relocation for each of
  # UBSan's data objects (PIE), the build takes 6 GB of disk instead of 2. For the warning that -Og triggers, see above.
  target_compile_options(lockstep_flags INTERFACE -fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer
                                                  -fno-sanitize-recover=all -Og -g1 -gz -fno-pie
                                                  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
                         # UBSan checks the code under test only: without it the tests compile in 60 % of the time.
                         "$<$<BOOL:$<TARGET_PROPERTY:LOCKSTEP_IS_TEST>>:-fno-sanitize=undefined>")
  if(LOCKSTEP_SANITIZE MATCHES thread)  # g++ warns that TSan does not see Asio's fences (boost/asio/detail/std_fenced_block.hpp)
    target_compile_options(lockstep_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  endif()
  target_link_options(lockstep_flags INTERFACE -fsanitize=${LOCKSTEP_SANITIZE} -no-pie -gz)
  find_program(LOCKSTEP_LLD ld.lld)  # links these programs, 200 MB each, in a third of the time
  if(LOCKSTEP_LLD)
    target_link_options(lockstep_flags INTERFACE -fuse-ld=lld)
  endif()
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

# lockstep_external(NAME TARGET ARCHIVES...): lockstep_NAME, an external library that a program with the property
# LOCKSTEP_SELF_CONTAINED has inside (if these archives exist), and others load as they do with TARGET.
define_property(TARGET PROPERTY LOCKSTEP_SELF_CONTAINED)
function(lockstep_external name target)
  add_library(lockstep_${name} INTERFACE)
  set(archives)
  foreach(archive ${ARGN})
    find_library(LOCKSTEP_ARCHIVE_${archive} NAMES lib${archive}.a)
    if(NOT LOCKSTEP_ARCHIVE_${archive})
      message(STATUS "lib${archive}.a is missing: lockstep-agent needs the shared library")
      target_link_libraries(lockstep_${name} INTERFACE ${target})
      return()
    endif()
    list(APPEND archives ${LOCKSTEP_ARCHIVE_${archive}})
  endforeach()
  set(inside "$<BOOL:$<TARGET_PROPERTY:LOCKSTEP_SELF_CONTAINED>>")
  target_link_libraries(lockstep_${name} INTERFACE "$<${inside}:${archives}>" "$<$<NOT:${inside}>:${target}>")
endfunction()

# One test program per folder under tests/unit, from every .cpp file of the folder, linked with GoogleTest and
# lockstep_<dep>.
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
