"""Runs Hugging Face's LlamaForCausalLM on weights and tokens that it finds in a folder.

Reads config.json, weights/NAME (fp32) and inputs, targets (int64); all raw little-endian, C order.
Writes loss (fp64), gradients/NAME (fp32) and log_probabilities (fp32, one row per token).
Exit code 77: transformers is not installed.
"""

import json
import pathlib
import sys

from loaded_transformers import run_there

run_there()

try:
    import numpy
    import torch
    import transformers
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    torch.manual_seed(0)
    settings = json.loads((folder / "config.json").read_text())
    batch_shape = settings.pop("batch_shape")
    config = transformers.LlamaConfig(**settings, attention_bias=False, mlp_bias=False, use_cache=False)
    model = transformers.LlamaForCausalLM(config).float()
    named = dict(model.named_parameters())
    for name, parameter in named.items():
        values = numpy.fromfile(folder / "weights" / name, dtype="<f4").reshape(tuple(parameter.shape))
        parameter.data.copy_(torch.from_numpy(values))

    def tokens(name):
        return torch.from_numpy(numpy.fromfile(folder / name, dtype="<i8").reshape(batch_shape))

    logits = model(input_ids=tokens("inputs")).logits.float().flatten(0, 1)
    loss = torch.nn.functional.cross_entropy(logits, tokens("targets").flatten(), ignore_index=-1)
    loss.backward()

    (folder / "gradients").mkdir(exist_ok=True)
    for name, parameter in named.items():
        parameter.grad.numpy().astype("<f4").tofile(folder / "gradients" / name)
    logits.detach().log_softmax(-1).numpy().astype("<f4").tofile(folder / "log_probabilities")
    numpy.array([loss.item()], dtype="<f8").tofile(folder / "loss")


main()
