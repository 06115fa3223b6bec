# Optional libraries of the linux driver: each swaps a source file, never an #ifdef in a function.
pkg_check_modules(LLDPCTL IMPORTED_TARGET lldpctl)
if(LLDPCTL_FOUND)
  target_sources(lockstep_linux PRIVATE ${CMAKE_CURRENT_LIST_DIR}/optional/lldpd_liblldpctl.cpp)
  target_link_libraries(lockstep_linux PUBLIC PkgConfig::LLDPCTL)
else()
  message(STATUS "liblldpctl-dev is missing: interface[*]/peer can't be asked of lldpd")
  target_sources(lockstep_linux PRIVATE ${CMAKE_CURRENT_LIST_DIR}/optional/lldpd_missing.cpp)
endif()
