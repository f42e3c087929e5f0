#include "hook/cdi/create_symlinks.h"

#include "base/text.h"
#include "hook/flags.h"

namespace partita::hook {

base::Result<std::vector<LinkToMake>> ParseLinks(std::span<const std::string> links) {
  constexpr std::string_view kBetween = "::";
  std::vector<LinkToMake> parsed;
  for (const std::string& link : links) {
    const std::size_t at = link.find(kBetween);
    LinkToMake made;
    if (at != std::string::npos) made = {link.substr(0, at), link.substr(at + kBetween.size())};
    if (made.target.empty() || made.path.empty() || made.path.find(kBetween) != std::string::npos)
      return base::MakeError(base::ErrorCode::kInvalid, "{} is no link", base::Quoted(link))
          .WithHint("write TARGET::LINK");
    parsed.push_back(std::move(made));
  }
  return parsed;
}

base::Result<void> CreateSymlinks(const HookCall& call, std::span<const LinkToMake> links) {
  std::vector<base::RootDir::NewLink> all;
  for (const LinkToMake& link : links) all.push_back({link.target, link.path});
  return call.root.PutLinks(all);
}

base::Result<void> RunCreateSymlinks(std::span<const std::string> arguments,
                                     CallInput& input,
                                     const Report&) {
  constexpr Flag kFlags[] = {{"link", Takes::kValues}, {"container-spec", Takes::kValue}};
  TRY(flags, Flags::Parse(arguments, kFlags));
  TRY(links, ParseLinks(flags.Values("link")));
  if (links.empty()) return {};
  TRY(call, input.Read(flags.Value("container-spec")));
  return CreateSymlinks(*call, links);
}

}  // namespace partita::hook
