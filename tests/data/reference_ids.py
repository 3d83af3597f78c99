"""Prints the ids that the tokenizers library gives for a text: reference_ids.py TOKENIZER.json TEXT"""

import sys

from tokenizers import Tokenizer

with open(sys.argv[2], encoding="utf-8", newline="") as text:
    print(*Tokenizer.from_file(sys.argv[1]).encode(text.read(), add_special_tokens=False).ids)
