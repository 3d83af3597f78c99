"""What the device reaches with nothing of ours: copies, matrix products of random data, attention of PyTorch.

The two ceilings, of memory and of products, are what all else is held against.
"""

import torch
from cases import Suite
from timing import Timer
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


def kernels(suite: Suite, device: torch.device, timer: Timer) -> dict[str, float]:
    """Seconds of PyTorch, eager, for what each of our kernels does; the loss is all of its kernels together."""
    tokens, hidden, ffn, vocabulary, head_dim, loss_tokens = suite.kernel_sizes
    functional = torch.nn.functional

    def random(*shape, dtype=torch.bfloat16, gradient=False):
        return torch.randn(*shape, device=device, dtype=dtype, requires_grad=gradient)

    def backward(output, *inputs):
        by_output = torch.randn_like(output)
        return timer.seconds(lambda: torch.autograd.grad(output, inputs, by_output, retain_graph=True))

    found = {}
    x, residual, weight = random(tokens, hidden, gradient=True), random(tokens, hidden), random(hidden, gradient=True)
    with torch.no_grad():
        found["add_rms_norm"] = timer.seconds(lambda: functional.rms_norm(x + residual, (hidden,), weight, 1e-5))
    found["rms_norm_backward"] = backward(functional.rms_norm(x, (hidden,), weight, 1e-5), x, weight)
    heads = random(tokens, hidden // head_dim, head_dim)
    cosine, sine = random(tokens, 1, head_dim), random(tokens, 1, head_dim)
    found["rope"] = timer.seconds(lambda: heads * cosine + _rotated(heads) * sine)
    gates, ups = random(tokens, ffn, gradient=True), random(tokens, ffn, gradient=True)
    with torch.no_grad():
        found["swiglu_forward"] = timer.seconds(lambda: functional.silu(gates) * ups)
    found["swiglu_backward"] = backward(functional.silu(gates) * ups, gates, ups)
    del x, residual, heads, gates, ups
    master = random(hidden * ffn, dtype=torch.float32, gradient=True)
    master.grad, values = torch.randn_like(master), random(hidden * ffn)
    optimizer = torch.optim.AdamW([master], lr=1e-4, fused=True)

    def update():
        optimizer.step()
        values.copy_(master.detach())
        master.grad.zero_()

    found["adamw"] = timer.seconds(update)
    found["squared_norm"] = timer.seconds(lambda: torch.linalg.vector_norm(master.detach()))
    found["convert"] = timer.seconds(lambda: master.detach().to(torch.bfloat16))
    del master, optimizer, values
    table, ids = random(vocabulary, hidden, gradient=True), torch.randint(0, vocabulary, (tokens,), device=device)
    with torch.no_grad():
        found["embedding_forward"] = timer.seconds(lambda: functional.embedding(ids, table))
    found["embedding_backward"] = backward(functional.embedding(ids, table), table)
    del table
    logits = random(loss_tokens, vocabulary, gradient=True)
    found["cross_entropy"] = timer.seconds(
        lambda: torch.autograd.grad(functional.cross_entropy(logits.float(), ids[:loss_tokens]), logits))
    return found


def _rotated(heads):
    low, high = heads.chunk(2, -1)
    return torch.cat((-high, low), -1)


def _attention(q, k, v, backend: SDPBackend):
    with sdpa_kernel(backend):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=q.shape[1] != k.shape[1])


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
