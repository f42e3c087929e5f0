# Part of the installation: files whose content depends on where the program goes.
set(destination "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")

foreach(name nvidia-mig-parted nvidia-device-plugin gpu-feature-discovery)
  set(link ${CMAKE_INSTALL_PREFIX}/bin/${name})
  message(STATUS "Installing: $ENV{DESTDIR}${link}")
  file(CREATE_LINK partita $ENV{DESTDIR}${link} SYMBOLIC)
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES ${link})
endforeach()

foreach(unit partita-agent.service partita-mig.service nvidia-gpu-reset.target)
  set(path lib/systemd/system/${unit})
  message(STATUS "Installing: ${destination}/${path}")
  file(READ ${PARTITA_SOURCE_DIR}/packaging/systemd/${unit} text)
  foreach(verb ExecStart ExecReload)
    string(REPLACE "${verb}=/usr/bin/" "${verb}=${CMAKE_INSTALL_PREFIX}/bin/" text "${text}")
  endforeach()
  file(WRITE ${destination}/${path} "${text}")
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES ${CMAKE_INSTALL_PREFIX}/${path})
endforeach()

# Where the boot unit looks for configurations and hooks, whatever the prefix; only of a system's own
# installation, since nobody else may write there.
if(CMAKE_INSTALL_PREFIX MATCHES "^/usr(/local)?$")
  message(STATUS "Installing: $ENV{DESTDIR}/etc/nvidia-mig-manager")
  file(MAKE_DIRECTORY $ENV{DESTDIR}/etc/nvidia-mig-manager)
endif()
