"""Loads folders of checkpoints as any user of Hugging Face would, and prints for each the loss of a token file.

transformers_load.py TOKENS SEQUENCE_LENGTH FOLDER...: TOKENS is an llm.c file, cut into sequences from its start.
Exit code 77: transformers is not installed; 1: weights are missing or left over.
"""

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

HEADER_BYTES = 1024


def load(folder):
    model, loading = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, output_loading_info=True, local_files_only=True)
    wrong = {what: names for what, names in loading.items() if names}
    if wrong:
        sys.exit(f"{folder}: weights that do not fit the model: {wrong}")
    return model


def main():
    token_file, length = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(1)
    tokens = numpy.fromfile(token_file, dtype="<u2", offset=HEADER_BYTES).astype("<i8")
    sequences = (len(tokens) - 1) // length
    inputs = torch.from_numpy(tokens[: sequences * length]).reshape(sequences, length)
    targets = torch.from_numpy(tokens[1 : sequences * length + 1])
    for folder in sys.argv[3:]:
        with torch.no_grad():
            logits = load(folder)(input_ids=inputs).logits.flatten(0, 1)
            print(repr(torch.nn.functional.cross_entropy(logits.double(), targets).item()))


main()
