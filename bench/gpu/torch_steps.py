"""Full training steps of a Llama of transformers with PyTorch, as users take them on one device.

torch_steps.py REQUEST     REQUEST: JSON of compiler (null: eager), device, tokens, config (of a LlamaConfig), sequence,
                           microBatch, accumulation, steps

Weights, gradients and moments are bf16 and AdamW is fused: the least that PyTorch users hold, and less than Caravan does,
which keeps gradients, moments and a copy of the weights in fp32. Prints one JSON object: the seconds and losses of the
steps, and the peak of the device's memory in tensors.
"""

import json
import sys
import time

import numpy
import torch
import transformers

HEADER_BYTES = 1024
BETAS, WEIGHT_DECAY, CLIP_NORM, LEARNING_RATE = (0.9, 0.95), 0.1, 1.0, 1e-4


def main() -> None:
    request = json.loads(sys.argv[1])
    device = torch.device(request["device"])
    torch.manual_seed(7)
    with torch.device(device):
        torch.set_default_dtype(torch.bfloat16)
        settings = transformers.LlamaConfig(**request["config"], attention_bias=False, mlp_bias=False)
        settings._attn_implementation = "sdpa"
        model = transformers.LlamaForCausalLM(settings)
        torch.set_default_dtype(torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, betas=BETAS, weight_decay=WEIGHT_DECAY, fused=True)
    parts, batch, length = request["accumulation"], request["microBatch"], request["sequence"]
    tokens = numpy.fromfile(request["tokens"], dtype="<u2", offset=HEADER_BYTES).astype("<i8")
    ids = torch.from_numpy(tokens[:parts * batch * length + 1])
    inputs, targets = (part.reshape(parts, batch, length).to(device) for part in (ids[:-1], ids[1:]))

    def loss_of(some_inputs, some_targets):
        logits = model(input_ids=some_inputs, use_cache=False).logits.flatten(0, 1)
        return torch.nn.functional.cross_entropy(logits.float(), some_targets.flatten())

    loss_function = torch.compile(loss_of, dynamic=False, backend=request["compiler"]) if request["compiler"] else loss_of

    def step() -> float:
        optimizer.zero_grad()
        total = torch.zeros((), device=device)
        for some_inputs, some_targets in zip(inputs, targets):
            loss = loss_function(some_inputs, some_targets) / parts
            loss.backward()
            total += loss.detach()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM)
        optimizer.step()
        return total.item()  # waits for the device

    seconds, losses = [], []
    for _ in range(request["steps"]):
        begin = time.perf_counter()
        losses.append(step())
        seconds.append(time.perf_counter() - begin)
    peak = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0
    print(json.dumps({"seconds": seconds, "losses": losses, "peakBytes": peak}))


main()
