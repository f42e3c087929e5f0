#include "service/ledger/codec.h"

#include "service/ledger/testing/verbs_fixture.h"

namespace partita::service::ledger {
namespace {

using testing::At;

// One of every kind, with every field away from what it is by itself.
class CodecTest : public testing::VerbsTest {
 protected:
  CodecTest() {
    machine_.vfio = {{{0, 9, 0, 0}, 0, {}, 4}, {{0, 10, 0, 0}, 0, {}, {}}};
    Do(Observe(state_, machine_, std::set<model::InstanceKey>{}));
    state_.era.boot = "b-1";
    state_.vfio.begin()->second.device.remembered = model::GpuUuid("GPU-9");
    const Sharing sharing{"mps", "{\"x\": 1}", "nvidia.com/gpu"};
    const Device devices[] = {Gpu(0),
                              Mig(0),
                              Share{Gpu(0), 3, sharing},
                              Share{Mig(1), 0, sharing},
                              Share{Gpu(0), 3, sharing, "small"},
                              VfioDevice{{0, 9, 0, 0}, model::GpuUuid("GPU-9"), 4}};
    for (const Device& device : devices) {
      Apply(state_, Put{Hold{device, train_, true, At(5), true}});
      Apply(state_, Put{Plan{"p" + KeyOf(device), {device}, true, true, At(-3)}});
      Apply(state_, Put{Claim{{"u" + KeyOf(device), "n", "c\"\n\u00e9"},
                              {{device, true}, {device}},
                              ClaimStep::kUnprepareStarted,
                              7,
                              At(8)}});
    }
    Apply(state_, Put{Hold{Gpu(1), Vm{"db", "r"}, false, At(6)}});
    Apply(state_, Put{Offer{Board("GPU-1"), Via::kDra, Via::kVm, At(9)}});
    state_.instances.begin()->second.foreign = true;
  }
};

TEST_F(CodecTest, SnapshotsComeBackAsTheyWere) {
  const base::Result<Snapshot> read = DecodeSnapshot(EncodeSnapshot({state_, 42}));
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(read->state, state_);
  EXPECT_EQ(read->sequence, 42U);
}

TEST_F(CodecTest, ChangesComeBackAsTheyWere) {
  std::vector<Change> changes;
  for (const Entry& entry : AllEntries(state_)) changes.emplace_back(Put{entry});
  changes.emplace_back(Erase{"hold/GPU-0"});
  const std::string text = EncodeChanges(changes);
  EXPECT_EQ(text.find('\n'), std::string::npos) << "one line";
  const base::Result<std::vector<Change>> read = DecodeChanges(text);
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(*read, changes);
}

TEST(Codec, IgnoresFieldsOfALaterProgram) {
  const base::Result<std::vector<Change>> read = DecodeChanges(
      R"({"later": 1, "changes": [{"put": {"kind": "gpu", "new": [], "gpu":
         {"type": "gpu", "uuid": "GPU-0", "colour": "green"}}}]})");
  ASSERT_TRUE(read.ok()) << read.error().ToString();
  EXPECT_EQ(*read, (std::vector<Change>{Put{SeenGpu{{model::GpuUuid("GPU-0")}}}}));
}

TEST(Codec, NamesWhatIsMissing) {
  for (const auto& [text, problem] : std::vector<std::pair<std::string, std::string>>{
           {R"({"changes": [{"put": {"kind": "gpu"}}]})", "gpu is missing"},
           {R"({"changes": [{"put": {"kind": "cat"}}]})", "kind is no entry's"},
           {R"({"changes": [{"erase": 1}]})", "erase is of another kind"},
           {R"({"changes": [7]})", "an object is none"},
           {R"({"changes": [{"put": {"kind": "offer", "board": "b", "via": "x"}}]})",
            "via is no word of its list"},
       }) {
    const base::Result<std::vector<Change>> read = DecodeChanges(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().message(), "not an entry of the ledger: " + problem);
  }
}

}  // namespace
}  // namespace partita::service::ledger
