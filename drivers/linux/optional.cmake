# Optional libraries of the linux driver: each swaps a source file, never an #ifdef in a function.
pkg_check_modules(LLDPCTL lldpctl)  # its header: the library is loaded when it is used
if(LLDPCTL_FOUND)
  target_sources(lockstep_linux PRIVATE ${CMAKE_CURRENT_LIST_DIR}/optional/lldpd_liblldpctl.cpp)
else()
  message(STATUS "liblldpctl-dev is missing: interface[*]/peer can't be asked of lldpd")
  target_sources(lockstep_linux PRIVATE ${CMAKE_CURRENT_LIST_DIR}/optional/lldpd_missing.cpp)
endif()

option(LOCKSTEP_ECN_MARKER "Build the eBPF ECN marker (needs clang and libbpf)" ON)
find_program(LOCKSTEP_BPF_CLANG NAMES clang clang-16 clang-14)
pkg_check_modules(LIBBPF IMPORTED_TARGET libbpf>=1.0)
if(LOCKSTEP_ECN_MARKER AND LOCKSTEP_BPF_CLANG AND LIBBPF_FOUND)
  set(marker_source ${CMAKE_CURRENT_LIST_DIR}/ecn_marker.bpf.c)
  set(marker_object ${CMAKE_CURRENT_BINARY_DIR}/ecn_marker.bpf.o)
  # -g: CO-RE needs the program's BTF. The multiarch folder has <asm/types.h>, which -target bpf does not look for.
  add_custom_command(
    OUTPUT ${marker_object}
    COMMAND ${LOCKSTEP_BPF_CLANG} -O2 -g -Wall -Werror -target bpf -idirafter
            /usr/include/${CMAKE_LIBRARY_ARCHITECTURE} -c ${marker_source} -o ${marker_object}
    DEPENDS ${marker_source}
    VERBATIM)
  set(marker_loader ${CMAKE_CURRENT_LIST_DIR}/optional/ecn_marker_libbpf.cpp)
  set_source_files_properties(
    ${marker_loader} PROPERTIES OBJECT_DEPENDS ${marker_object} COMPILE_DEFINITIONS
                                                                LOCKSTEP_ECN_MARKER_OBJECT="${marker_object}")
  target_sources(lockstep_linux PRIVATE ${marker_loader} ${marker_object})
  lockstep_external(bpf PkgConfig::LIBBPF bpf elf z)
  target_link_libraries(lockstep_linux PUBLIC lockstep_bpf)
else()
  message(STATUS "no eBPF ECN marker: clang or libbpf-dev is missing, or it was turned off")
  target_sources(lockstep_linux PRIVATE ${CMAKE_CURRENT_LIST_DIR}/optional/ecn_marker_missing.cpp)
endif()
