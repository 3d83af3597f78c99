"""Trains a Llama of transformers with PyTorch, as users do: the contestant of cpu-train_bench.py.

torch_trainer.py make FOLDER CONFIG THREADS                     writes a model of random weights; CONFIG: JSON of a LlamaConfig
torch_trainer.py train FOLDER CONFIG THREADS MODE TYPE RUN      MODE: eager or compile; TYPE: FP32 or BF16; RUN: JSON of
                                                                tokens, sequenceLength, sequences, steps and learningRate

`train` reads one micro-batch size a line and answers each with one line of JSON: the seconds and the loss of every step from
the folder's weights on. "products SIZE" has it make the matrix products of a step alone instead. What fails is answered by
{"failed": why}.
"""

import json
import sys
import time

import numpy
import torch
import transformers

HEADER_BYTES = 1024
TYPES = {"FP32": torch.float32, "BF16": torch.bfloat16}
BETAS, WEIGHT_DECAY, CLIP_NORM = (0.9, 0.95), 0.1, 1.0


def load(folder: str, dtype: torch.dtype) -> torch.nn.Module:
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, local_files_only=True,
                                                             attn_implementation="sdpa")


def make(folder: str, config: dict) -> None:
    torch.manual_seed(7)
    settings = transformers.LlamaConfig(**config, attention_bias=False, mlp_bias=False)
    transformers.LlamaForCausalLM(settings).save_pretrained(folder)


class Training:
    def __init__(self, folder: str, config: dict, mode: str, dtype: torch.dtype, run: dict) -> None:
        self._config, self._dtype, self._run = config, dtype, run
        self._model = load(folder, dtype)
        self._initial = {name: value.clone() for name, value in self._model.state_dict().items()}
        self._loss = torch.compile(self._loss_of, dynamic=False) if mode == "compile" else self._loss_of
        tokens = numpy.fromfile(run["tokens"], dtype="<u2", offset=HEADER_BYTES).astype("<i8")
        shape = (run["sequences"], run["sequenceLength"])
        self._inputs, self._targets = (torch.from_numpy(part).reshape(shape) for part in (tokens[:-1], tokens[1:]))

    def _loss_of(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        logits = self._model(input_ids=inputs, use_cache=False).logits.flatten(0, 1)
        return torch.nn.functional.cross_entropy(logits.float(), targets.flatten())

    def _optimizer(self) -> torch.optim.Optimizer:
        weights = list(self._model.parameters())
        groups = [{"params": [each for each in weights if each.dim() > 1], "weight_decay": WEIGHT_DECAY},
                  {"params": [each for each in weights if each.dim() == 1], "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=self._run["learningRate"], betas=BETAS, eps=1e-8, fused=True)

    def _step(self, optimizer: torch.optim.Optimizer, micro_batch: int) -> float:
        optimizer.zero_grad()
        total = torch.zeros((), dtype=torch.float64)
        parts = self._run["sequences"] // micro_batch
        for inputs, targets in zip(self._inputs.split(micro_batch), self._targets.split(micro_batch)):
            loss = self._loss(inputs, targets) / parts
            loss.backward()
            total += loss.detach()
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), CLIP_NORM)
        optimizer.step()
        return total.item()

    def train(self, micro_batch: int) -> dict:
        self._model.load_state_dict(self._initial)
        optimizer = self._optimizer()
        return timed(self._run["steps"], lambda: self._step(optimizer, micro_batch))

    def products(self, micro_batch: int) -> dict:
        """Each product of forward and backward, layer by layer with weights of its own; attention's are left out."""
        tokens = micro_batch * self._run["sequenceLength"]
        products = [product for shape in self._shapes() for product in products_of(tokens, *shape, self._dtype)]

        def step() -> float:
            for _ in range(self._run["sequences"] // micro_batch):
                for a, b, out in products:
                    torch.mm(a, b, out=out)
            return 0.0

        return timed(self._run["steps"], step)

    def _shapes(self) -> list[tuple[int, int]]:
        """Inputs and outputs of every linear layer; Q, K and V are one, and gate and up."""
        width, inner = self._config["hidden_size"], self._config["intermediate_size"]
        layer = [(width, 3 * width), (width, width), (width, 2 * inner), (inner, width)]
        return layer * self._config["num_hidden_layers"] + [(width, self._config["vocab_size"])]


def products_of(tokens: int, inputs: int, outputs: int, dtype: torch.dtype) -> list[tuple]:
    x, w, y = (torch.randn(shape).to(dtype) for shape in ((tokens, inputs), (outputs, inputs), (tokens, outputs)))
    pairs = ((x, w.t()), (y, w), (y.t(), x))
    return [(a, b, torch.empty(a.shape[0], b.shape[1], dtype=dtype)) for a, b in pairs]


def timed(steps: int, step) -> dict:
    seconds, losses = [], []
    for _ in range(steps):
        begin = time.perf_counter()
        losses.append(step())
        seconds.append(time.perf_counter() - begin)
    return {"seconds": seconds, "losses": losses}


def answer(training: Training, line: str) -> dict:
    *what, size = line.split()
    try:
        with torch.no_grad() if what else torch.enable_grad():
            return training.products(int(size)) if what else training.train(int(size))
    except Exception as error:  # of whatever kind: a compiler that is missing has many names
        return {"failed": f"{type(error).__name__}: {error}"}


def main() -> None:
    verb, folder, config, threads, *more = sys.argv[1:]
    torch.set_num_threads(int(threads))
    transformers.utils.logging.disable_progress_bar()
    if verb == "make":
        return make(folder, json.loads(config))
    mode, dtype, run = more
    training = Training(folder, json.loads(config), mode, TYPES[dtype], json.loads(run))
    for line in sys.stdin:
        print(json.dumps(answer(training, line)), flush=True)


main()
