//! C ABI over the crates that Caravan uses from Rust; the header is `rust/caravan_ffi.h`.

mod boundary;
mod cel_rules;
mod tokenizer;
