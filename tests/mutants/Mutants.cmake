# Preset `mutants`: the sources rewritten by generate.py replace their originals.
set(mutants ${CMAKE_SOURCE_DIR}/tests/mutants)
execute_process(COMMAND /usr/bin/python3 ${mutants}/generate.py ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}
                COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE mutated RELATIVE ${CMAKE_BINARY_DIR}/mutated ${CMAKE_BINARY_DIR}/mutated/*.cpp)
list(TRANSFORM mutated PREPEND ${CMAKE_SOURCE_DIR}/ OUTPUT_VARIABLE originals)
set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${originals}
                                                           ${mutants}/generate.py ${mutants}/seeded.py)

# Replaces the mutated files in a list of sources. It does not matter which library contains mutant.cpp.
function(mutate_sources list)
  set(rewritten)
  foreach(source ${${list}})
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${source})
    if(path IN_LIST mutated)
      set(source ${CMAKE_BINARY_DIR}/mutated/${path})
    endif()
    list(APPEND rewritten ${source})
    if(path STREQUAL "specs/model/diff.cpp")
      list(APPEND rewritten ${mutants}/mutant.cpp)
    endif()
  endforeach()
  set(${list} ${rewritten} PARENT_SCOPE)
endfunction()
