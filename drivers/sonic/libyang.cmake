# lockstep_yang: libyang, linked; in a program that has its libraries inside (LOCKSTEP_SELF_CONTAINED), loaded when it is used,
# since Debian has no archive of it.
pkg_check_modules(LIBYANG REQUIRED IMPORTED_TARGET libyang>=2.1)
add_library(lockstep_yang_linked STATIC ${CMAKE_CURRENT_LIST_DIR}/optional/libyang_linked.cpp)
target_link_libraries(lockstep_yang_linked PUBLIC lockstep_flags PkgConfig::LIBYANG)
add_library(lockstep_yang_loaded STATIC ${CMAKE_CURRENT_LIST_DIR}/optional/libyang_loaded.cpp)
target_link_libraries(lockstep_yang_loaded PUBLIC lockstep_flags ${CMAKE_DL_LIBS})
add_library(lockstep_yang INTERFACE)
set(inside "$<BOOL:$<TARGET_PROPERTY:LOCKSTEP_SELF_CONTAINED>>")
target_link_libraries(lockstep_yang INTERFACE "$<${inside}:lockstep_yang_loaded>" "$<$<NOT:${inside}>:lockstep_yang_linked>")
