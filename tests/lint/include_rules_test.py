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

    def test_tests_of_every_room_may_use_what_is_for_tests(self):
        text = '#include "common/testing/turn.h"'
        self.assertEqual([], list(mistakes_in("worker/trainer/cuda/a_test.cc", text)))
        self.assert_refused("worker/trainer/cuda/a.cu", text, "may not use common")

    def test_libraries_stay_in_their_rooms(self):
        self.assert_refused("planner/a.cc", "#include <ATen/core/Tensor.h>", "planner may not use")
        self.assert_refused("worker/trainer/a.cc", "#include <grpcpp/grpcpp.h>", "worker/trainer may not use")
        self.assert_refused("worker/trainer/cuda/a.cu", "#include <ATen/core/Tensor.h>", "worker/trainer/cuda may not use")

    def test_a_library_may_be_for_a_part_of_a_room(self):
        self.assert_refused("common/schema/a.cc", "#include <CLI/CLI.hpp>", "common may not use")
        self.assert_refused("http/server.cc", "#include <boost/beast/http.hpp>", "which is for http/head.cc")
        self.assertEqual([], list(mistakes_in("common/arguments/a.h", "#include <CLI/CLI.hpp>")))
        self.assertEqual([], list(mistakes_in("http/head.cc", "#include <boost/beast/http/parser.hpp>")))

    def test_a_library_of_a_room_is_not_for_the_rooms_within(self):
        self.assert_refused("operator/api/a.cc", "#include <CLI/CLI.hpp>", "operator/api may not use")

    def test_pure_rooms_have_neither_input_nor_output_nor_threads(self):
        for room in ("planner", "policy", "report_text", "operator/api", "operator/view"):
            for header in ("fstream", "mutex", "unistd.h", "sys/ioctl.h"):
                self.assert_refused(f"{room}/a.cc", f"#include <{header}>", f"{room} is pure")
        self.assertEqual([], list(mistakes_in("operator/controller/a.h", "#include <mutex>")))
        self.assertEqual([], list(mistakes_in("operator/view/testing/a.h", "#include <fstream>")))

    def test_a_planner_knows_no_time(self):
        self.assert_refused("planner/a.cc", "#include <chrono>", "planner is pure")
        self.assertEqual([], list(mistakes_in("policy/a.h", "#include <chrono>")))

    def test_torch_and_protobuf_never_meet(self):
        text = '#include <ATen/core/Tensor.h>\n#include "caravan/v1alpha1/rank.pb.h"'
        self.assert_refused("worker/trainer/a.cc", text, "must not meet")

    def test_includes_are_rooted_at_the_repository(self):
        self.assert_refused("common/a.cc", '#include "result.h"', "not rooted")

    def test_what_is_allowed_passes(self):
        self.assertEqual([], list(mistakes_in("cli/a.cc", '#include "planner/plan.h"\n#include <grpcpp/grpcpp.h>')))


if __name__ == "__main__":
    unittest.main()
