# The files that are installed with the binary, and the Debian package:
#   cmake --preset release && cmake --build --preset release --target deb      # build/release/lockstep_VERSION_ARCH.deb
# The binary generates its manual pages and completion from the tables that it parses its command line with.
include(GNUInstallDirs)
set(share ${CMAKE_BINARY_DIR}/share)
set(doc ${CMAKE_INSTALL_DATADIR}/doc/lockstep)

# Debian requires compressed pages and changelogs (Policy 12.1, 12.7). -n omits the timestamp: builds are reproducible.
add_custom_command(OUTPUT ${share}/stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${share}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${share}/man ${share}/doc
  COMMAND lockstep generate man-pages ${share}/man
  COMMAND gzip -9n ${share}/man/*.1
  COMMAND ${CMAKE_COMMAND} -E make_directory ${share}/man8
  COMMAND gzip -9nc ${CMAKE_SOURCE_DIR}/packaging/lockstep-agent.8 > ${share}/man8/lockstep-agent.8.gz
  COMMAND lockstep completion bash > ${share}/completion
  COMMAND gzip -9nc ${CMAKE_SOURCE_DIR}/CHANGELOG.md > ${share}/doc/changelog.gz
  COMMAND gzip -9nc ${CMAKE_SOURCE_DIR}/packaging/changelog > ${share}/doc/changelog.Debian.gz
  COMMAND ${CMAKE_COMMAND} -E touch ${share}/stamp
  DEPENDS lockstep ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${CMAKE_SOURCE_DIR}/packaging/changelog
          ${CMAKE_SOURCE_DIR}/packaging/lockstep-agent.8)
add_custom_target(share ALL DEPENDS ${share}/stamp)

install(DIRECTORY ${share}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(DIRECTORY ${share}/man8/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
install(FILES packaging/lockstep-agent.service packaging/lockstep.service packaging/lockstep.socket
        DESTINATION lib/systemd/system)
install(FILES packaging/lockstep.catalog DESTINATION lib/systemd/catalog)
install(DIRECTORY packaging/monitoring DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/lockstep)
install(FILES ${share}/completion DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME lockstep)
install(DIRECTORY ${share}/doc/ DESTINATION ${doc})
install(FILES packaging/copyright README.md SECURITY.md DESTINATION ${doc})
install(FILES packaging/lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME lockstep)
install(DIRECTORY docs DESTINATION ${doc} PATTERN make.sh EXCLUDE PATTERN record.py EXCLUDE)
install(DIRECTORY examples/rail-pod examples/big-pod examples/one-host DESTINATION ${doc}/examples)
install(DIRECTORY examples/ci DESTINATION ${doc}/examples USE_SOURCE_PERMISSIONS)
install(PROGRAMS examples/quickstart.sh DESTINATION ${doc}/examples)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                                WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "declarative reconciler for the fabric, NICs and hosts of AI clusters")
set(CPACK_PACKAGE_DESCRIPTION "Lockstep keeps the network, hosts and switches of an AI cluster configured as
declared in YAML, and proves by measurement that the result performs. It shows
what it would change and what that disturbs, applies it in a safe order,
verifies it by reading back the effect, measures what the change can have
touched, and rolls back what breaks an SLO. A twin of the cluster, made of
network namespaces and FRR, runs on one machine.")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "Lockstep maintainers <maintainers@users.noreply.a-seed-93769c1b.example>")
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# iproute2: ip(8), for the quickstart and for users; FRR and lldpd: switches, and every device of a twin.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "frr, iproute2, lldpd")
# git: specs of serve; ssh-keygen(1): plan --sign; ca-certificates: receivers of alerts over https; redis-server: SONiC
# switches of a twin.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "ca-certificates, git, openssh-client, redis-server")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
include(CPack)

# Installing must not depend on `all`, which builds the tests.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
add_custom_target(deb DEPENDS lockstep lockstep-agent share
                  COMMAND ${CMAKE_CPACK_COMMAND} -G DEB --config ${CMAKE_BINARY_DIR}/CPackConfig.cmake
                  WORKING_DIRECTORY ${CMAKE_BINARY_DIR} USES_TERMINAL VERBATIM)
