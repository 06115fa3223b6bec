# Writes OUTPUT, the definition of build_commit() (reconciler/cli/version.hpp), if its content changes. Runs with every
# build, so that a binary always reports its own commit. Usage: cmake -D SOURCE=... -D OUTPUT=... -P BuildCommit.cmake
set(commit "")
find_program(GIT git)
if(GIT)
  # The checkout may belong to another user than the one who builds, and several builds may run at once.
  set(git ${CMAKE_COMMAND} -E env GIT_OPTIONAL_LOCKS=0 ${GIT} -c safe.directory=${SOURCE} -C ${SOURCE})
  execute_process(COMMAND ${git} rev-parse --show-toplevel OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  # Sources unpacked inside another project's checkout must not report that project's commit.
  file(REAL_PATH ${SOURCE} source)
  if(top STREQUAL source)
    execute_process(COMMAND ${git} describe --always --dirty --abbrev=12 --exclude=* OUTPUT_VARIABLE commit
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
set(text "#include \"reconciler/cli/version.hpp\"\n\nstd::string_view lockstep::build_commit() { return \"${commit}\"; }\n")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${OUTPUT} "${text}")
endif()
