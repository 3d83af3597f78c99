//! C ABI over the crates that Caravan uses from Rust; the header is `rust/caravan_ffi.h`.

use std::ffi::{c_char, CString};

mod cel_rules;
mod tokenizer;

/// Frees a text that a function of this library gave out; null is allowed.
///
/// # Safety
/// `text` comes from this library and was not freed before.
#[no_mangle]
pub unsafe extern "C" fn caravan_string_free(text: *mut c_char) {
    if !text.is_null() {
        drop(CString::from_raw(text));
    }
}
