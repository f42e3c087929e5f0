// Any text written by base::ToYaml is read back as the same string, as a value and as a key.
#include <string>

#include "base/value.h"
#include "config/document.h"
#include "fuzz/target.h"

FUZZ_TARGET(yaml_output) {
  using partita::base::Value;
  const std::string text(partita::fuzz::AsText(data, size));
  const std::string json = partita::base::JsonString(text);
  // What is not UTF-8 is replaced on the way out; only the rest can come back unchanged.
  if (json.find("\xEF\xBF\xBD") != std::string::npos) return 0;

  const Value map =
      Value::Map()
          .Set("value", text)
          .Set("nested", Value::List().Add(Value::Map().Set(text + "!", 1).Set("x", text)));
  const std::string yaml = partita::base::ToYaml(map);
  const auto document = partita::config::Document::Parse(yaml, "output.yaml");
  PARTITA_CHECK(document.ok());
  const partita::config::Node& root = document->root();
  PARTITA_CHECK(root.entries.size() == 2);
  PARTITA_CHECK(root.Find("value")->IsScalar() && root.Find("value")->text == text);
  const partita::config::Node& item = root.Find("nested")->items.at(0);
  PARTITA_CHECK(item.entries.size() == 2 || text == "x");
  PARTITA_CHECK(item.FindKey(text + "!") != nullptr);
  PARTITA_CHECK(item.Find("x")->IsScalar() && item.Find("x")->text == text);
  return 0;
}
