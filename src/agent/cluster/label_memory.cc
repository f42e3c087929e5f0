#include "agent/cluster/label_memory.h"

#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/result.h"
#include "base/state_file.h"

namespace partita::agent {
namespace {

using base::LogKey;
using base::Value;

base::StateFile LabelStateIn(const std::string& directory) {
  return {.path = base::JoinPath(directory, "labels.json"), .name = "labels"};
}

std::string RecordText(const Value& map, std::string_view key) {
  const Value* text = map.Find(key);
  return text != nullptr && text->kind() == Value::Kind::kString ? text->AsString() : "";
}

base::Result<LabelPlaces> ReadPlaces(const std::string& payload) {
  TRY(document, base::ParseJson(payload), "labels.json");
  LabelPlaces places;
  const Value* node = document.Find("node");
  places.node = node != nullptr && *node == Value(true);
  places.node_feature = RecordText(document, "nodeFeature");
  places.file = RecordText(document, "file");
  if (const Value* taint = document.Find("taint"))
    places.taint = service::labels::Taint{RecordText(*taint, "key"), RecordText(*taint, "value"),
                                          RecordText(*taint, "effect")};
  return places;
}

Value PlacesDocument(const LabelPlaces& places) {
  Value document = Value::Map()
                       .Set("node", places.node)
                       .Set("nodeFeature", places.node_feature)
                       .Set("file", places.file);
  if (places.taint)
    document.Set("taint", Value::Map()
                              .Set("key", places.taint->key)
                              .Set("value", places.taint->value)
                              .Set("effect", places.taint->effect));
  return document;
}

}  // namespace

LabelMemory::LabelMemory(base::Log& log)
    : log_(log),
      failure_(log, "where labels are written was not noted: a later agent may leave them") {}

void LabelMemory::Open(const std::string& state_directory) {
  directory_ = state_directory;
  places_ = {};
  const auto unknown = [this](const base::Error& error) {
    log_.Warn("where labels were written is not known: what is there stays",
              base::ErrorFields(error));
  };
  const base::Result<base::StateRead> read = base::ReadState(LabelStateIn(directory_));
  if (!read.ok()) return unknown(read.error());
  if (!read->warning.empty()) log_.Warn("labels.json", {{LogKey::kError, read->warning}});
  if (!read->payload) return;
  base::Result<LabelPlaces> places = ReadPlaces(*read->payload);
  if (!places.ok()) return unknown(places.error());
  places_ = *std::move(places);
}

void LabelMemory::Note(const LabelPlaces& places) {
  if (places == places_) return;
  places_ = places;
  const base::Result<void> written =
      base::WriteState(LabelStateIn(directory_), base::ToJson(PlacesDocument(places)));
  if (written.ok())
    failure_.Succeeded();
  else
    failure_.Failed(written.error());
}

}  // namespace partita::agent
