#include "service/mig/change_wire.h"

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "model/testing/filler.h"
#include "model/testing/sample_inventories.h"
#include "service/mig/change_fields.h"

namespace partita::service::mig {
namespace {

using base::ErrorCode;
using base::Value;

// As it arrives: through the text that goes over the socket.
Value Sent(const Value& value) { return base::ParseJson(base::ToJsonLine(value)).value(); }

// The tables name every field (fields.h), so that what is written again is the same only where
// nothing was lost.
template <typename T>
void ExpectSurvives(const T& value, base::Result<T> (*read)(const Value&)) {
  const base::Result<T> back = read(Sent(ToWire(value)));
  ASSERT_TRUE(back.ok()) << back.error().ToString();
  EXPECT_EQ(Sent(ToWire(*back)), Sent(ToWire(value)));
}

template <typename T>
void ExpectEveryFieldSurvives(base::Result<T> (*read)(const Value&)) {
  T value{};
  const Value before = ToWire(value);
  model::testing::Filler().Fill(value);
  EXPECT_NE(ToWire(value), before);
  ExpectSurvives(value, read);
}

TEST(ChangeWire, CarriesEveryFieldOfEveryStruct) {
  ExpectEveryFieldSurvives<RemoteOrder>(OrderFromWire);
  ExpectEveryFieldSurvives<ChangeNews>(NewsFromWire);
  ExpectEveryFieldSurvives<ChangeEnd>(ChangeEndFromWire);
  ExpectEveryFieldSurvives<BootChoice>(BootChoiceFromWire);
  ExpectEveryFieldSurvives<BootEnd>(BootEndFromWire);
  ExpectEveryFieldSurvives<PlanLook>(PlanLookFromWire);
}

TEST(ChangeWire, WhatIsReadIsWhatWasOrdered) {
  RemoteOrder order;
  model::testing::Filler().Fill(order);
  ASSERT_EQ(order.hooks->variables.size(), 2U);
  ASSERT_EQ((*order.agreed)[1].steps.size(), 2U);
  EXPECT_EQ(OrderFromWire(Sent(ToWire(order))).value(), order);
  order = {};
  order.source.text = std::string("1g\xFF\0z", 5);
  EXPECT_EQ(OrderFromWire(Sent(ToWire(order))).value(), order);
}

TEST(ChangeWire, CarriesEveryChoice) {
  // One past the last that is known here is refused, so that this goes through all of them.
  const auto all = []<typename T>(T last, const std::function<bool(T)>& survives) {
    using Number = std::underlying_type_t<T>;
    for (unsigned i = 0; i <= static_cast<Number>(last); ++i)
      EXPECT_TRUE(survives(static_cast<T>(i))) << i;
    EXPECT_FALSE(survives(static_cast<T>(static_cast<Number>(last) + 1)));
  };
  const auto order = [](const std::function<void(RemoteOrder&)>& set) {
    RemoteOrder sent;
    set(sent);
    const auto back = OrderFromWire(Sent(ToWire(sent)));
    return back.ok() && *back == sent;
  };
  all.operator()<GoalKind>(GoalKind::kCheckpoint, [&](GoalKind kind) {
    return order([&](RemoteOrder& each) { each.source.kind = kind; });
  });
  all.operator()<Remember>(Remember::kAwaited, [&](Remember remember) {
    return order([&](RemoteOrder& each) { each.remember = remember; });
  });
  all.operator()<model::StepKind>(model::StepKind::kCreateCompute, [&](model::StepKind kind) {
    return order([&](RemoteOrder& each) { each.agreed = {{{}, {{kind, {1, 2}, {}, {}}}}}; });
  });
  all.operator()<NewsKind>(NewsKind::kLine, [](NewsKind kind) {
    const auto back = NewsFromWire(Sent(ToWire(ChangeNews{kind})));
    return back.ok() && back->kind == kind;
  });
  all.operator()<ChangeStatus>(ChangeStatus::kUndecided, [](ChangeStatus status) {
    const auto back = BootEndFromWire(Sent(ToWire(BootEnd{"", status})));
    return back.ok() && back->status == status;
  });
  all.operator()<GpuEnd>(GpuEnd::kOtherwise, [](GpuEnd gpu_end) {
    ChangeEnd end;
    end.report.emplace().gpus.push_back({{}, gpu_end});
    const auto back = ChangeEndFromWire(Sent(ToWire(end)));
    return back.ok() && back->report->gpus[0].end == gpu_end;
  });
}

TEST(ChangeWire, TheNodeAfterwardsIsTheNode) {
  ChangeEnd end;
  end.report.emplace().after = model::testing::KubernetesNode().inventory;
  const auto back = ChangeEndFromWire(Sent(ToWire(end)));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->report->after, end.report->after);
}

TEST(ChangeWire, RefusesAnotherVersionByName) {
  const Value other = Value::Map().Set("version", 2U).Set("order", Value::Map());
  EXPECT_EQ(OrderFromWire(other).error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(OrderFromWire(other).error().ToString(), "an order of version 2, and 1 is known here");
  EXPECT_EQ(ChangeEndFromWire(Value::Map()).error().ToString(),
            "an end of a change of no version, and 1 is known here");
}

TEST(ChangeWire, AnEndSaysSomething) {
  const auto nothing = ChangeEndFromWire(Sent(ToWire(ChangeEnd{})));
  EXPECT_EQ(nothing.error().ToString(), "end: neither error nor report");
}

// Each value of a good message replaced by what does not belong there.
void ForEachSpoiled(const Value& value, const std::function<void(const Value&)>& spoiled) {
  const Value wrong[] = {Value(),
                         Value(-1),
                         Value(1e300),
                         Value("\n"),
                         Value::List(),
                         Value::Map(),
                         Value::List().Add(Value::List().Add("x"))};
  for (const Value& each : wrong) {
    if (each != value) spoiled(each);
  }
  if (value.kind() == Value::Kind::kMap) {
    for (const Value::Member& member : value.members()) {
      ForEachSpoiled(member.value,
                     [&](const Value& with) { spoiled(Value(value).Set(member.key, with)); });
    }
    spoiled(Value(value).Set("more", 1U));
  } else if (value.kind() == Value::Kind::kList && !value.items().empty()) {
    ForEachSpoiled(value.items().front(), [&](const Value& with) {
      Value list = Value::List().Add(with);
      for (std::size_t i = 1; i < value.items().size(); ++i) list.Add(value.items()[i]);
      spoiled(list);
    });
  }
}

TEST(ChangeWire, WhatMakesNoSenseIsAnErrorAndNothingWorse) {
  RemoteOrder order;
  ChangeEnd end;
  model::testing::Filler().Fill(order);
  end.error = base::Error(ErrorCode::kBusy, "held");
  end.report.emplace().gpus.resize(1);
  end.report->gpus[0].failures.push_back({"step", base::Error(ErrorCode::kIo, "x"), {}});
  int accepted = 0, refused = 0;
  const auto count = [&](const auto& read) {
    if (read.ok()) {
      ++accepted;
    } else {
      ++refused;
      EXPECT_FALSE(read.error().ToString().empty());
    }
  };
  ForEachSpoiled(ToWire(order), [&](const Value& value) { count(OrderFromWire(value)); });
  ForEachSpoiled(ToWire(end), [&](const Value& value) { count(ChangeEndFromWire(value)); });
  // Another text, an empty list or a number that fits is as good as any.
  EXPECT_GT(refused, 400);
  EXPECT_LT(accepted, refused / 3);
}

TEST(RemoteOrder, AWrongTextIsRefusedWithItsPlace) {
  std::atomic<bool> stop = false;
  RemoteOrder order;
  order.source.text = "1g.5gb:x";
  EXPECT_EQ(MakeOrder(
                order, [](const ChangeNews&) {}, &stop)
                .error()
                .code(),
            ErrorCode::kInvalid);
  order.source.text = "none";
  order.hooks = HookOrder{"hooks.yaml", "version: v7\n", {}, ""};
  const auto made = MakeOrder(
      order, [](const ChangeNews&) {}, &stop);
  EXPECT_TRUE(made.error().message().starts_with("hooks.yaml:1:10: ")) << made.error().message();
}

TEST(RemoteOrder, WithoutAgreementNothingIsAgreedTo) {
  std::atomic<bool> stop = false;
  RemoteOrder order;
  order.source.text = "none";
  EXPECT_FALSE(MakeOrder(
                   order, [](const ChangeNews&) {}, &stop)
                   ->agree);
  order.must_agree = true;
  EXPECT_FALSE(MakeOrder(
                   order, [](const ChangeNews&) {}, &stop)
                   ->agree({}, {})
                   .agreed);
  order.agreed.emplace();
  EXPECT_TRUE(MakeOrder(
                  order, [](const ChangeNews&) {}, &stop)
                  ->agree({}, {})
                  .agreed);
}

}  // namespace
}  // namespace partita::service::mig
