"""What gpu_bench.py measures: models, runs, shapes. Nothing here starts or times anything."""

import dataclasses


ACCUMULATION = 8  # micro-batches of a step


@dataclasses.dataclass(frozen=True)
class Model:
    """As the presets of `caravan presets`."""

    preset: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    ffn: int
    vocabulary: int
    tied: bool

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads

    def config(self, sequence: int) -> dict:
        """As transformers calls it."""
        return {"hidden_size": self.hidden, "intermediate_size": self.ffn, "num_hidden_layers": self.layers,
                "num_attention_heads": self.heads, "num_key_value_heads": self.kv_heads, "vocab_size": self.vocabulary,
                "max_position_embeddings": sequence, "rms_norm_eps": 1e-5, "tie_word_embeddings": self.tied,
                "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}}

    def parameters(self) -> int:
        layer = self.hidden * self.head_dim * (self.heads + 2 * self.kv_heads) + self.hidden**2
        layer += 3 * self.hidden * self.ffn + 2 * self.hidden
        tables = self.vocabulary * self.hidden * (1 if self.tied else 2)
        return self.layers * layer + tables + self.hidden

    def flops_per_token(self, sequence: int) -> int:
        """Useful ones, as docs/design.md counts them (PaLM's definition): a table that is only looked up does nothing."""
        lookup = 0 if self.tied else self.vocabulary * self.hidden
        return 6 * (self.parameters() - lookup) + 12 * self.layers * self.heads * self.head_dim * sequence

    def products(self) -> list[tuple[str, int, int]]:
        """Name, inputs and outputs of the linear layers; Q, K and V are one, and gate and up."""
        kv = self.kv_heads * self.head_dim
        return [("qkv", self.hidden, self.hidden + 2 * kv), ("attention output", self.hidden, self.hidden),
                ("gate-up", self.hidden, 2 * self.ffn), ("down", self.ffn, self.hidden),
                ("head", self.hidden, self.vocabulary)]


@dataclasses.dataclass(frozen=True)
class Run:
    """Full steps of one model."""

    model: Model
    sequence: int
    micro_batch: int
    states: str = "FP32"  # of the optimizer
    accumulation: int = ACCUMULATION
    steps: int = 5

    @property
    def name(self) -> str:
        states = "" if self.states == "FP32" else f", {self.states} states"
        micro_batches = "" if self.accumulation == ACCUMULATION else f", {self.accumulation} micro-batches"
        return f"{self.model.preset}, sequence {self.sequence}, micro-batch {self.micro_batch}{states}{micro_batches}"

    @property
    def sequences(self) -> int:
        return self.micro_batch * self.accumulation

    @property
    def tokens(self) -> int:
        return self.sequences * self.sequence

    def flops(self) -> int:
        return self.tokens * self.model.flops_per_token(self.sequence)

    def update_bytes(self) -> int:
        """What the update of the weights reads and writes: gradient, both moments, master copy, and bf16 values."""
        moments = 16 if self.states == "FP32" else 8
        return self.model.parameters() * (8 + moments + 8 + 2)


@dataclasses.dataclass(frozen=True)
class Rung:
    """One thing that is otherwise than in the run as users get it, to see what that thing is worth."""

    changed: str
    environment: dict


@dataclasses.dataclass(frozen=True)
class Suite:
    """All of one call of the benchmark, most telling first: what comes last is left out where time is short."""

    name: str
    device: dict  # of a job's resources
    precision: str
    runs: list[Run]
    copy_bytes: int
    square: int  # rows of the large square product
    product_tokens: list[int]
    attention: list[tuple[int, int, int, int]]  # sequence, heads, key heads, head dim
    kernel_sizes: tuple[int, int, int, int, int, int]  # tokens, hidden, ffn, vocabulary, head dim, tokens of a chunk of the loss
    headlines: int  # the first so many runs come before all else
    contestant_runs: int  # the first so many runs are also PyTorch's
    rungs: list[Rung]  # of the first run that comes to its end
    compiler: str  # of torch.compile
    seconds: float  # that one timing takes

    def models(self) -> list[Model]:
        return list(dict.fromkeys(run.model for run in self.runs))


LLAMA_1B = Model("llama3.2-1b", 2048, 16, 32, 8, 8192, 128256, True)
LLAMA_3B = Model("llama3.2-3b", 3072, 28, 24, 8, 8192, 128256, True)
LLAMA_8B = Model("llama3-8b", 4096, 32, 32, 8, 14336, 128256, False)
TINY = Model("llama-tiny", 64, 4, 4, 2, 176, 256, False)

# The first three are PyTorch's, too. Then what micro-batches of one sequence cost, a step as long as users take, in which the
# update of the weights is a small part, and what the planner's rates are fitted by.
HEADLINES = [Run(LLAMA_8B, 4096, 2, "BF16", accumulation=4), Run(LLAMA_3B, 4096, 2, accumulation=4),
             Run(LLAMA_1B, 4096, 4, accumulation=2), Run(LLAMA_8B, 4096, 1, "BF16"),
             Run(LLAMA_8B, 4096, 2, "BF16", accumulation=16, steps=4), Run(LLAMA_1B, 2048, 1), Run(LLAMA_3B, 8192, 1),
             Run(LLAMA_1B, 8192, 2, accumulation=4)]
CONTESTANT_RUNS = 3
ATTENTION_RUNGS = [Rung(f"attention: {name}", {"CARAVAN_ATTENTION": name}) for name in ("flash",)]
SWEEP = [Run(model, sequence, micro_batch, "BF16" if model is LLAMA_8B else "FP32") for micro_batch in (1, 2, 4, 8)
         for sequence in (2048, 4096, 8192) for model in (LLAMA_1B, LLAMA_3B, LLAMA_8B)]


def suite_of(name: str) -> Suite:
    """"tiny", or a device's product as the planner knows it."""
    return tiny_suite() if name == "tiny" else gpu_suite(name)


def gpu_suite(product: str) -> Suite:
    return Suite(name=product, device={"kind": "GPU", "product": product}, precision="BF16",
                 runs=list(dict.fromkeys(HEADLINES + SWEEP)), copy_bytes=4 << 30, square=8192,
                 product_tokens=[4096, 8192],
                 attention=[(sequence, heads, 8, dim) for sequence in (2048, 4096, 8192) for heads, dim in ((32, 128), (32, 64))],
                 kernel_sizes=(16384, 4096, 14336, 128256, 64, 2048), headlines=len(HEADLINES),
                 contestant_runs=CONTESTANT_RUNS, rungs=ATTENTION_RUNGS, compiler="inductor", seconds=0.15)


def tiny_suite() -> Suite:
    """Everything that the large one does, on a processor within a minute."""
    return Suite(name="tiny", device={"kind": "CPU", "memory": str(4 << 30)}, precision="BF16",
                 runs=[Run(TINY, 64, micro_batch, accumulation=2, steps=4) for micro_batch in (1, 2)], copy_bytes=1 << 22,
                 square=128, product_tokens=[64], attention=[(64, 4, 2, 16)], kernel_sizes=(8, 128, 192, 300, 64, 8), headlines=1, contestant_runs=1,
                 rungs=[Rung("instruction set: default", {"ATEN_CPU_CAPABILITY": "default"})], compiler="aot_eager", seconds=0.01)
