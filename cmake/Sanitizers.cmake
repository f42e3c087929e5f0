# PARTITA_SANITIZE=address,undefined or thread; empty for none. Everything but the simulator's shared
# library is instrumented: that one is loaded into programs that are not.
set(PARTITA_SANITIZE "" CACHE STRING "Comma-separated sanitizers")
add_library(partita_sanitizers INTERFACE)
if(PARTITA_SANITIZE)
  target_compile_options(partita_sanitizers INTERFACE -fsanitize=${PARTITA_SANITIZE} -fno-omit-frame-pointer
                                                      -fno-sanitize-recover=all)
  target_link_options(partita_sanitizers INTERFACE -fsanitize=${PARTITA_SANITIZE})
endif()
