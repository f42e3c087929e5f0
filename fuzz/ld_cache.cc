// Any bytes as the loader's cache: libraries whose names and places are texts of the file, or an
// error.
#include "service/cdi/ld_cache.h"

#include "fuzz/target.h"

FUZZ_TARGET(ld_cache) {
  const std::string_view bytes = partita::fuzz::AsText(data, size);
  const auto libraries = partita::service::cdi::ParseLdCache(bytes);
  if (!libraries.ok()) {
    PARTITA_CHECK(libraries.error().code() == partita::base::ErrorCode::kInvalid);
    return 0;
  }
  for (const partita::service::cdi::CachedLibrary& library : *libraries) {
    PARTITA_CHECK(!library.name.empty() && !library.path.empty());
    PARTITA_CHECK(bytes.find(library.name) != std::string_view::npos);
    PARTITA_CHECK(bytes.find(library.path) != std::string_view::npos);
  }
  return 0;
}
