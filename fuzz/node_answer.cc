// Whatever an API server says a Node or a NodeFeature object is: it is read without harm, and what
// is sent back of it is as wanted.
#include <string>

#include "base/json.h"
#include "fuzz/target.h"
#include "kube/conditions.h"
#include "service/labels/node_feature.h"
#include "service/labels/node_state.h"
#include "service/labels/taints.h"

FUZZ_TARGET(node_answer) {
  namespace kube = partita::kube;
  namespace labels = partita::service::labels;
  const auto read = partita::base::ParseJson(partita::fuzz::AsText(data, size));
  if (!read.ok()) return 0;
  const partita::base::Value& object = *read;
  const labels::Labels wanted = {{"a", "1"}, {"b", ""}};
  (void)labels::ApplyChanges(object, wanted, wanted);
  (void)labels::Contenders(object, wanted);
  (void)labels::FromDocument(object);
  const kube::Condition condition{"a/B", "True", "Fine", ""};
  (void)kube::HasCondition(object, condition);
  (void)kube::ConditionsPatch(object, std::span(&condition, 1), {});

  const labels::Taint taint{"nvidia.com/gpu", "present"};
  if (const auto patch = labels::TaintsPatch(object, {.add = taint, .ready = true}))
    PARTITA_CHECK(labels::HasTaintLike(*patch, taint));

  const partita::base::Value feature = labels::ToNodeFeature(wanted, "n1", "gpu", {});
  if (labels::NodeFeatureDiffers(object, feature))
    PARTITA_CHECK(!labels::NodeFeatureDiffers(labels::OverNodeFeature(object, feature), feature));
  return 0;
}
