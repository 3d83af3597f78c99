"""Rows of the measured data as cases for the planner, and as jobs for `caravan plan`."""

import csv
import dataclasses
import pathlib


@dataclasses.dataclass(frozen=True)
class Model:
    layers: int
    hidden: int
    heads: int
    ffn: int
    vocabulary: int
    kv_heads: int | None = None  # as many as heads

    def architecture(self) -> dict:
        return {"hiddenSize": self.hidden, "layers": self.layers, "heads": self.heads, "kvHeads": self.kv_heads or self.heads,
                "ffnSize": self.ffn, "vocabSize": self.vocabulary}


def gpt(layers: int, hidden: int, heads: int, vocabulary: int = 51200) -> Model:
    """A GPT as the Llama of as many parameters: a gated feed-forward layer of 8/3 instead of 4 hidden sizes, rounded so that
    tensor parallelism divides it."""
    return Model(layers, hidden, heads, 64 * round(hidden / 24), vocabulary)


def layout_label(tensor: int, pipeline: int, data: int, micro_batch_size: int, virtual_stages: int,
                 sequence_parallel: bool, checkpointing: bool) -> str:
    chunks = f" v{virtual_stages}" if virtual_stages > 1 else ""
    return (f"TP{tensor} PP{pipeline} DP{data}{chunks} MBS{micro_batch_size}"
            + (" without SP" if tensor > 1 and not sequence_parallel else "")
            + (" with checkpointing" if checkpointing else ""))


@dataclasses.dataclass(frozen=True)
class Run:
    model: Model
    devices: int
    product: str
    sequence_length: int
    sequences: int  # of the global batch
    tensor: int
    pipeline: int
    micro_batch_size: int
    checkpointing: bool
    sequence_parallel: bool
    zero_stage: int
    virtual_stages: int = 1

    @property
    def data(self) -> int:
        return self.devices // (self.tensor * self.pipeline)

    def schedule(self) -> str:
        return "Interleaved" if self.virtual_stages > 1 else "1F1B"

    def spec(self) -> dict:
        return {"model": {"architecture": self.model.architecture()},
                "data": {"path": "unused"},
                "training": {"steps": 1000, "sequenceLength": self.sequence_length,
                             "globalBatchSequences": self.sequences, "precision": "BF16"},
                "resources": {"devices": self.devices, "devicesPerNode": 8,
                              "device": {"kind": "GPU", "product": self.product}}}

    def case(self) -> dict:
        layers, rest = divmod(self.model.layers, self.pipeline)
        return {"spec": self.spec(),
                "plan": {"tensor": self.tensor, "pipeline": self.pipeline, "data": self.data,
                         "microBatchSize": self.micro_batch_size, "sequenceParallel": self.sequence_parallel,
                         "activationCheckpointing": "Always" if self.checkpointing else "Never",
                         "virtualStages": self.virtual_stages, "schedule": self.schedule(), "zeroStage": self.zero_stage,
                         "layersPerStage": [layers + (stage < rest) for stage in range(self.pipeline)]}}

    def job(self, free: bool) -> dict:
        """For `caravan plan`: with every choice open, or with this run's own layout."""
        spec = self.spec()
        if not free:
            spec["parallelism"] = {"mode": "Manual", "tensor": self.tensor, "pipeline": self.pipeline,
                                   "data": self.data, "microBatchSize": self.micro_batch_size,
                                   "activationCheckpointing": "Always" if self.checkpointing else "Never",
                                   "sequenceParallel": self.sequence_parallel, "schedule": self.schedule(),
                                   "virtualStages": self.virtual_stages, "zeroStage": self.zero_stage}
        return {"apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob",
                "metadata": {"name": "measured"}, "spec": spec}

    def label(self) -> str:
        return layout_label(self.tensor, self.pipeline, self.data, self.micro_batch_size, self.virtual_stages,
                            self.sequence_parallel, self.checkpointing)


def rows(folder: pathlib.Path, name: str) -> list[dict]:
    with open(folder / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
