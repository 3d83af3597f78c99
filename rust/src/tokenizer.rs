//! Hugging Face `tokenizer.json` files.
