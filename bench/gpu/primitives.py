"""What the device reaches with nothing of ours: copies, matrix products of random data, attention of PyTorch.

The two ceilings, of memory and of products, are what all else is held against.
"""

import dataclasses

import torch
from cases import Suite
from timing import Timer
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION, "math": SDPBackend.MATH}


def copy_gigabytes_per_second(suite: Suite, device: torch.device, timer: Timer) -> float:
    """Of bytes read and bytes written."""
    source = torch.randint(0, 255, (suite.copy_bytes,), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * suite.copy_bytes / timer.seconds(lambda: target.copy_(source)) / 1e9


def product_seconds(rows: int, inner: int, columns: int, device: torch.device, timer: Timer) -> float:
    a = torch.randn(rows, inner, device=device, dtype=torch.bfloat16)
    b = torch.randn(columns, inner, device=device, dtype=torch.bfloat16)
    out = torch.empty(rows, columns, device=device, dtype=torch.bfloat16)
    return timer.seconds(lambda: torch.mm(a, b.t(), out=out))


def square_teraflops(suite: Suite, device: torch.device, timer: Timer) -> float:
    return 2 * suite.square**3 / product_seconds(suite.square, suite.square, suite.square, device, timer) / 1e12


def products(suite: Suite, device: torch.device, timer: Timer) -> list[dict]:
    """Of each model's linear layers the three products of forward and backward."""
    found = []
    for model in suite.models():
        for name, inputs, outputs in model.products():
            for tokens in suite.product_tokens:
                shapes = {"forward": (tokens, inputs, outputs), "by input": (tokens, outputs, inputs),
                          "by weight": (outputs, tokens, inputs)}
                for part, shape in shapes.items():
                    seconds = product_seconds(*shape, device, timer)
                    found.append({"model": model.preset, "layer": name, "part": part, "tokens": tokens,
                                  "shape": list(shape), "seconds": seconds,
                                  "teraflops": 2 * shape[0] * shape[1] * shape[2] / seconds / 1e12})
    return found


@dataclasses.dataclass(frozen=True)
class _EagerKernels:
    """Each method takes the tensors of its kernels, and their memory is free behind it."""

    suite: Suite
    device: torch.device
    timer: Timer

    def random(self, *shape, dtype=torch.bfloat16, gradient=False):
        return torch.randn(*shape, device=self.device, dtype=dtype, requires_grad=gradient)

    def forward(self, compute) -> float:
        with torch.no_grad():
            return self.timer.seconds(compute)

    def backward(self, output, *inputs) -> float:
        by_output = torch.randn_like(output)
        return self.timer.seconds(lambda: torch.autograd.grad(output, inputs, by_output, retain_graph=True))

    def norms(self) -> dict[str, float]:
        tokens, hidden = self.suite.kernel_sizes[:2]
        x, residual = self.random(tokens, hidden, gradient=True), self.random(tokens, hidden)
        weight = self.random(hidden, gradient=True)
        norm = functional.rms_norm
        return {"add_rms_norm": self.forward(lambda: norm(x + residual, (hidden,), weight, 1e-5)),
                "rms_norm_backward": self.backward(norm(x, (hidden,), weight, 1e-5), x, weight)}

    def rotation(self) -> dict[str, float]:
        tokens, hidden, _, _, head_dim, _ = self.suite.kernel_sizes
        heads = self.random(tokens, hidden // head_dim, head_dim)
        cosine, sine = self.random(tokens, 1, head_dim), self.random(tokens, 1, head_dim)
        return {"rope": self.timer.seconds(lambda: heads * cosine + _rotated(heads) * sine)}

    def gates(self) -> dict[str, float]:
        tokens, _, ffn = self.suite.kernel_sizes[:3]
        gates, ups = self.random(tokens, ffn, gradient=True), self.random(tokens, ffn, gradient=True)
        return {"swiglu_forward": self.forward(lambda: functional.silu(gates) * ups),
                "swiglu_backward": self.backward(functional.silu(gates) * ups, gates, ups)}

    def updates(self) -> dict[str, float]:
        _, hidden, ffn = self.suite.kernel_sizes[:3]
        master = self.random(hidden * ffn, dtype=torch.float32, gradient=True)
        master.grad, values = torch.randn_like(master), self.random(hidden * ffn)
        optimizer = torch.optim.AdamW([master], lr=1e-4, fused=True)

        def update():
            optimizer.step()
            values.copy_(master.detach())
            master.grad.zero_()

        return {"adamw": self.timer.seconds(update),
                "squared_norm": self.timer.seconds(lambda: torch.linalg.vector_norm(master.detach()))}

    def token_ids(self, tokens: int):
        return torch.randint(0, self.suite.kernel_sizes[3], (tokens,), device=self.device)

    def embedding(self) -> dict[str, float]:
        tokens, hidden, _, vocabulary = self.suite.kernel_sizes[:4]
        table, ids = self.random(vocabulary, hidden, gradient=True), self.token_ids(tokens)
        return {"embedding_forward": self.forward(lambda: functional.embedding(ids, table)),
                "embedding_backward": self.backward(functional.embedding(ids, table), table)}

    def loss(self) -> dict[str, float]:
        _, _, _, vocabulary, _, loss_tokens = self.suite.kernel_sizes
        logits, ids = self.random(loss_tokens, vocabulary, gradient=True), self.token_ids(loss_tokens)
        return {"cross_entropy": self.timer.seconds(
            lambda: torch.autograd.grad(functional.cross_entropy(logits.float(), ids), logits))}


def kernels(suite: Suite, device: torch.device, timer: Timer) -> dict[str, float]:
    """Seconds of PyTorch, eager, for what each of our kernels does; the loss is all of its kernels together."""
    eager = _EagerKernels(suite, device, timer)
    return eager.norms() | eager.rotation() | eager.gates() | eager.updates() | eager.embedding() | eager.loss()


def _rotated(heads):
    low, high = heads.chunk(2, -1)
    return torch.cat((-high, low), -1)


def _attention(q, k, v, backend: SDPBackend):
    with sdpa_kernel(backend):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=q.shape[1] != k.shape[1])


def attention(suite: Suite, device: torch.device, timer: Timer) -> list[dict]:
    """Causal, one sequence: forward, and forward with backward. FLOPs are those of whole squares, halved."""
    found = []
    for sequence, heads, kv_heads, dim in suite.attention:
        q = torch.randn(1, heads, sequence, dim, device=device, dtype=torch.bfloat16, requires_grad=True)
        k, v = (torch.randn(1, kv_heads, sequence, dim, device=device, dtype=torch.bfloat16, requires_grad=True) for _ in "kv")
        flops = 2 * heads * sequence**2 * dim
        for name, backend in BACKENDS.items():
            case = {"sequence": sequence, "heads": heads, "kvHeads": kv_heads, "headDim": dim, "kernel": name}
            try:
                output = _attention(q, k, v, backend)
                gradient = torch.randn_like(output)
                forward = timer.seconds(lambda: _attention(q, k, v, backend))
                both = timer.seconds(lambda: _attention(q, k, v, backend).backward(gradient))
            except RuntimeError as error:  # a kernel that this device does not have
                found.append(case | {"missing": str(error).splitlines()[0]})
                continue
            found.append(case | {"forwardSeconds": forward, "bothSeconds": both, "forwardTeraflops": flops / forward / 1e12,
                                 "bothTeraflops": 3.5 * flops / both / 1e12})
    return found
