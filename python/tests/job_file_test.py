"""What is read as a job."""

import tempfile
import unittest
from pathlib import Path

import installed_client  # noqa: F401

import caravan

REPOSITORY = Path(__file__).resolve().parents[2]


class JobFile(unittest.TestCase):
    def read(self, text: str):
        with tempfile.TemporaryDirectory() as folder:
            self.file = Path(folder, "job.yaml")
            self.file.write_text(text)
            return caravan.read_job(self.file)

    def is_refused(self, text: str, *words: str) -> None:
        with self.assertRaises(caravan.JobFileError) as refused:
            self.read(text)
        for word in (str(self.file), *words):
            self.assertIn(word, str(refused.exception))

    def test_every_example_is_a_job(self):
        examples = sorted((REPOSITORY / "examples").glob("*.yaml"))
        self.assertTrue(examples)
        for example in examples:
            job = caravan.read_job(example)
            self.assertTrue(job.spec.training.steps, example)
            self.assertEqual(job, caravan.read_job(job))

    def test_a_dict_is_what_a_file_has(self):
        job = caravan.read_job({"metadata": {"name": "a", "labels": {"team": "nlp"}}, "spec": {"model": {"preset": "llama-tiny"}}})
        self.assertEqual(("a", "nlp", "llama-tiny"), (job.metadata.name, job.metadata.labels["team"], job.spec.model.preset))

    def test_a_field_that_no_job_has_is_named(self):
        self.is_refused("spec: {training: {stepz: 5}}", "stepz", "spec.training")

    def test_a_value_of_another_type_is_named_with_its_field(self):
        self.is_refused("spec: {training: {steps: many}}", "steps field", "training field")

    def test_a_field_that_is_given_twice_is_told_with_both_its_lines(self):
        twice = "spec:\n  training: {steps: 5}\n  resources: {}\n  training: {steps: 7}"
        self.is_refused(twice, "training is given twice", "line 2", "line 4")
        self.is_refused("spec: {training: {steps: 5, steps: 7}}", "steps is given twice")
        self.is_refused("? [a]\n: 1", "unhashable key")

    def test_a_number_without_quotes_is_taken_where_validate_takes_it(self):
        for written in ("3e-4", "0.001", "1", "010", "'1e-3'", "1.5e3", "1.e5", "+.5", "-.5E+1"):
            for field in ("learningRate", "learning_rate"):
                job = self.read(f"spec: {{training: {{optimizer: {{{field}: {written}}}}}}}")
                self.assertEqual(written.strip("'"), job.spec.training.optimizer.learning_rate)
        for number in ("3e-4", "1.5", "1.5e3", "7"):
            self.is_refused(f"metadata: {{labels: {{version: {number}}}}}", "metadata.labels.version", number, "quotes")
            self.is_refused(f"spec: {{worker: {{env: [{{name: A, value: {number}}}]}}}}", "spec.worker.env[0].value", "quotes")
        optimizer = {"training": {"optimizer": {"learningRate": 0.5}}}
        self.assertEqual("0.5", caravan.read_job({"spec": optimizer}).spec.training.optimizer.learning_rate)
        self.assertEqual("1.5", self.read("metadata: {labels: {version: '1.5'}}").metadata.labels["version"])

    def test_y_and_n_are_booleans_as_kubectl_has_them(self):
        for written, read in {"y": True, "N": False, "yes": True, "off": False}.items():
            self.assertEqual(read, self.read(f"spec: {{suspend: {written}}}").spec.suspend)
        self.is_refused("metadata: {labels: {spot: Y}}", "labels")
        self.assertEqual("y", self.read("metadata: {labels: {spot: 'y'}}").metadata.labels["spot"])

    def test_days_and_times_of_day_are_texts_as_kubectl_has_them(self):
        for written in ("2026-01-02", "2026-01-02T03:04:05Z", "12:30", "1:30:15.5"):
            annotations = self.read(f"metadata: {{annotations: {{at: {written}, {written}: key}}}}").metadata.annotations
            self.assertEqual({"at": written, written: "key"}, dict(annotations))

    def test_another_kind_is_refused(self):
        self.is_refused("kind: Pod", "kind is Pod", "LlamaTrainingJob")
        self.is_refused("apiVersion: v1", "apiVersion is v1")

    def test_a_file_has_one_job(self):
        self.is_refused("metadata: {name: a}\n---\nmetadata: {name: b}", "one job", "2")
        self.is_refused("", "one job")
        self.is_refused("just text", "one job")

    def test_what_is_no_yaml_and_what_is_not_there_is_told_with_the_file(self):
        self.is_refused("spec: {", "expected")
        for written in ("a: !!int x", "a: !!timestamp 2001-99-99", "a: !!bool perhaps", "[" * 5000, "spec: &a {b: *a}", "spec: &a [*a]"):
            self.is_refused(written, "job.yaml")
        with self.assertRaisesRegex(caravan.JobFileError, "missing.yaml"):
            caravan.read_job("missing.yaml")


if __name__ == "__main__":
    unittest.main()
