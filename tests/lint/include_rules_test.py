"""The include rules are only worth something when they catch what they forbid."""

import unittest

from include_rules import mistakes_in


class IncludeRules(unittest.TestCase):
    def assert_refused(self, path, text, part):
        found = list(mistakes_in(path, text))
        self.assertTrue(any(part in mistake for mistake in found), f"{path} with {text!r}: {found}")

    def test_a_room_may_not_use_a_room_it_was_not_given(self):
        self.assert_refused("planner/a.cc", '#include "kube/client.h"', "planner may not use kube")
        self.assert_refused("worker/agent/a.cc", '#include "worker/trainer/comm/mesh.h"', "may not use worker/trainer")

    def test_libraries_stay_in_their_rooms(self):
        self.assert_refused("planner/a.cc", "#include <ATen/core/Tensor.h>", "planner may not use")
        self.assert_refused("worker/trainer/a.cc", "#include <grpcpp/grpcpp.h>", "worker/trainer may not use")
        self.assert_refused("worker/trainer/cuda/a.cu", "#include <ATen/core/Tensor.h>", "worker/trainer/cuda may not use")

    def test_the_planner_is_pure(self):
        self.assert_refused("planner/a.cc", "#include <chrono>", "the planner is pure")

    def test_torch_and_protobuf_never_meet(self):
        text = '#include <ATen/core/Tensor.h>\n#include "caravan/v1alpha1/rank.pb.h"'
        self.assert_refused("worker/trainer/a.cc", text, "must not meet")

    def test_includes_are_rooted_at_the_repository(self):
        self.assert_refused("common/a.cc", '#include "result.h"', "not rooted")

    def test_what_is_allowed_passes(self):
        self.assertEqual([], list(mistakes_in("cli/a.cc", '#include "planner/plan.h"\n#include <grpcpp/grpcpp.h>')))


if __name__ == "__main__":
    unittest.main()
