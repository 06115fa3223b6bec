# Writes embedded.cpp with the text of every *.yaml of this folder, and adds it to lockstep_platforms.
set(folder ${CMAKE_CURRENT_LIST_DIR})
file(GLOB files CONFIGURE_DEPENDS ${folder}/*.yaml)
list(SORT files)
set(entries "")
foreach(file ${files})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  get_filename_component(name ${file} NAME)
  string(APPEND entries "    {\"${name}\", R\"lockstep(${text})lockstep\"},\n")
endforeach()
set(source "#include \"specs/platforms/platform.hpp\"

namespace lockstep {
namespace {
constexpr EmbeddedText kFiles[] = {
${entries}};
}  // namespace
std::span<const EmbeddedText> embedded_platforms() { return kFiles; }
}  // namespace lockstep
")
set(target_file ${CMAKE_CURRENT_BINARY_DIR}/platforms/embedded.cpp)
set(old "")
if(EXISTS ${target_file})
  file(READ ${target_file} old)
endif()
if(NOT "${old}" STREQUAL "${source}")
  file(WRITE ${target_file} "${source}")
endif()
target_sources(lockstep_platforms PRIVATE ${target_file})
