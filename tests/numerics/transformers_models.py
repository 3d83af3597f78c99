"""Llama models as Hugging Face's own library makes, compares and uses them.

transformers_models.py make FOLDER SETTINGS DTYPE SHARD_BYTES   a small model with random weights; SETTINGS: JSON of its config
transformers_models.py same FOLDER FOLDER                       exit code 1 unless all weights have the same names and bytes
transformers_models.py generate FOLDER COUNT TOKEN...           prints COUNT more tokens, chosen greedily in fp32
transformers_models.py tokenizer FOLDER TEXT                    prints the text after its way through the folder's tokenizer
Exit code 77: transformers is not installed.
"""

import json
import sys

from loaded_transformers import run_there

run_there()

try:
    import torch
    import transformers
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)


def load(folder, dtype):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, local_files_only=True)


def make(folder, settings, dtype, shard_bytes):
    torch.manual_seed(7)
    config = transformers.LlamaConfig(**json.loads(settings), attention_bias=False, mlp_bias=False, initializer_range=0.2)
    model = transformers.LlamaForCausalLM(config).to(getattr(torch, dtype))
    model.save_pretrained(folder, safe_serialization=True, max_shard_size=int(shard_bytes))


def same(one, other):
    first, second = (load(folder, "auto").state_dict() for folder in (one, other))
    names = sorted(first.keys() | second.keys())
    wrong = [name for name in names
             if name not in first or name not in second or first[name].dtype != second[name].dtype
             or not torch.equal(first[name].view(torch.uint8), second[name].view(torch.uint8))]
    if wrong or not names:
        sys.exit(f"{one} and {other} differ in {wrong or 'everything'}")


def generate(folder, count, *tokens):
    prompt = torch.tensor([[int(token) for token in tokens]])
    model = load(folder, torch.float32)
    with torch.no_grad():
        # No token ends the text, so that all of them are compared.
        ids = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=int(count),
                             do_sample=False, eos_token_id=[], pad_token_id=0)
    print(*ids[0, prompt.shape[1]:].tolist())


def tokenizer(folder, text):
    loaded = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    print(loaded.decode(loaded.encode(text)))


def main():
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    {"make": make, "same": same, "generate": generate, "tokenizer": tokenizer}[sys.argv[1]](*sys.argv[2:])


main()
