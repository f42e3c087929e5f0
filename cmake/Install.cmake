# What `make install` puts where: the programs, a second name, units, manual pages, completions, schemas.
# Every path is relative to the prefix, so that `cmake --install --prefix` decides; the manifest lists all.
set(PARTITA_ZSH_COMPLETIONS
    share/zsh/site-functions
    CACHE STRING "Where zsh looks for completions, below the prefix")
if(EXISTS /etc/debian_version)
  set_property(CACHE PARTITA_ZSH_COMPLETIONS PROPERTY VALUE share/zsh/vendor-completions)
endif()

# partita_printed(FILE DESTINATION WORD…): what `partita WORD…` prints, as a file.
function(partita_printed file destination)
  set(path ${CMAKE_BINARY_DIR}/install/${file})
  add_custom_command(
    OUTPUT ${path}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/install
    COMMAND partita ${ARGN} > ${path}
    DEPENDS partita
    VERBATIM)
  set_property(GLOBAL APPEND PROPERTY partita_printed_files ${path})
  install(FILES ${path} DESTINATION ${destination})
endfunction()

install(TARGETS partita partita-hook RUNTIME DESTINATION bin)
install(FILES ${CMAKE_SOURCE_DIR}/packaging/man/partita-hook.1 DESTINATION share/man/man1)
foreach(name partita nvidia-mig-parted nvidia-device-plugin gpu-feature-discovery)
  partita_printed(${name}.1 share/man/man1 man ${name})
  partita_printed(${name} share/bash-completion/completions completion bash ${name})
  partita_printed(_${name} ${PARTITA_ZSH_COMPLETIONS} completion zsh ${name})
  partita_printed(${name}.fish share/fish/vendor_completions.d completion fish ${name})
endforeach()
get_property(printed GLOBAL PROPERTY partita_printed_files)
add_custom_target(printed_files ALL DEPENDS ${printed})

file(GLOB schemas CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/apis/*.schema.json)
install(FILES ${schemas} DESTINATION share/partita/schemas)

# Units name the program by its whole path, and NVIDIA's names are links: both depend on the prefix.
install(CODE "set(PARTITA_SOURCE_DIR \"${CMAKE_SOURCE_DIR}\")")
install(SCRIPT ${CMAKE_SOURCE_DIR}/cmake/install_prefixed.cmake)
