# PARTITA_SANITIZE=address,undefined or thread; empty for none. Everything but the simulator's shared
# library is instrumented: that one is loaded into programs that are not.
set(PARTITA_SANITIZE "" CACHE STRING "Comma-separated sanitizers")
add_library(partita_sanitizers INTERFACE)
if(PARTITA_SANITIZE STREQUAL "address,undefined")
  # The compiler takes less time for each file without these: a null pointer is what the address sanitizer reports
  # anyway, and the fuzzers look for misaligned reads where foreign bytes are read. clang needs `null` for `vptr`.
  set(unwanted null,alignment)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set(unwanted alignment)
  endif()
  target_compile_options(partita_sanitizers INTERFACE -fsanitize=${PARTITA_SANITIZE} -fno-sanitize=${unwanted}
                                                      -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(partita_sanitizers INTERFACE -fsanitize=${PARTITA_SANITIZE})
elseif(PARTITA_SANITIZE)
  target_compile_options(partita_sanitizers INTERFACE -fsanitize=${PARTITA_SANITIZE} -fno-omit-frame-pointer
                                                      -fno-sanitize-recover=all)
  target_link_options(partita_sanitizers INTERFACE -fsanitize=${PARTITA_SANITIZE})
endif()

# Tests: the product's code is what is judged. Compiling tests with the address and undefined-behaviour
# sanitizers takes as long again and would judge the tests. The thread sanitizer must see both sides of
# what they share.
add_library(partita_test_sanitizers INTERFACE)
if(PARTITA_SANITIZE STREQUAL "thread")
  target_link_libraries(partita_test_sanitizers INTERFACE partita_sanitizers)
elseif(PARTITA_SANITIZE)
  target_link_options(partita_test_sanitizers INTERFACE -fsanitize=${PARTITA_SANITIZE})
endif()
