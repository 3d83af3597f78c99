//! Hugging Face `tokenizer.json` files.

use std::ffi::{c_char, CString};

use tokenizers::processors::PostProcessorWrapper;
use tokenizers::Tokenizer;

use crate::boundary::{bytes, guarded};

/// Mirrors `CaravanToken` of the header.
#[repr(C)]
pub struct Token {
    id: u32,
    begin: u32,
}

fn load(json: &[u8]) -> Result<Tokenizer, String> {
    let mut tokenizer = Tokenizer::from_bytes(json).map_err(|error| error.to_string())?;
    // Files are often saved with the settings of an inference run, which would cut or fill up the text.
    tokenizer.with_truncation(None).map_err(|error| error.to_string())?;
    tokenizer.with_padding(None);
    // Nobody asks for the tokens that it adds, and ByteLevel's trim_offsets moves the begin of a token of
    // spaces, by which windows are joined.
    tokenizer.with_post_processor(None::<PostProcessorWrapper>);
    Ok(tokenizer)
}

fn encode(tokenizer: &Tokenizer, text: &[u8]) -> Result<Box<[Token]>, String> {
    let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    let encoding = tokenizer.encode(text, false).map_err(|error| error.to_string())?;
    let tokens = encoding.get_ids().iter().zip(encoding.get_offsets());
    tokens
        .map(|(&id, &(begin, _))| {
            Ok(Token { id, begin: u32::try_from(begin).map_err(|error| error.to_string())? })
        })
        .collect()
}

fn decode(tokenizer: &Tokenizer, ids: &[u32]) -> Result<CString, String> {
    let text = tokenizer.decode(ids, true).map_err(|error| error.to_string())?;
    CString::new(text.replace('\0', "\u{FFFD}")).map_err(|error| error.to_string())
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn caravan_tokenizer_load(
    json: *const c_char,
    size: usize,
    error: *mut *mut c_char,
) -> *mut Tokenizer {
    guarded(error, || load(bytes(json, size)))
        .map_or(std::ptr::null_mut(), |loaded| Box::into_raw(Box::new(loaded)))
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn caravan_tokenizer_free(tokenizer: *mut Tokenizer) {
    if !tokenizer.is_null() {
        drop(Box::from_raw(tokenizer));
    }
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn caravan_tokenizer_vocabulary(tokenizer: *const Tokenizer) -> u64 {
    // Ids may have gaps, so the number of tokens is not enough.
    let largest = (*tokenizer).get_vocab(true).into_values().max();
    largest.map_or(0, |id| u64::from(id) + 1)
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn caravan_tokenizer_token_id(
    tokenizer: *const Tokenizer,
    name: *const c_char,
    size: usize,
) -> i64 {
    let name = std::str::from_utf8(bytes(name, size)).ok();
    name.and_then(|name| (*tokenizer).token_to_id(name)).map_or(-1, i64::from)
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn caravan_tokenizer_special_token_id(
    tokenizer: *const Tokenizer,
    name: *const c_char,
    size: usize,
) -> i64 {
    let tokenizer = &*tokenizer;
    let name = std::str::from_utf8(bytes(name, size)).ok();
    name.filter(|name| tokenizer.get_added_vocabulary().is_special_token(name))
        .and_then(|name| tokenizer.token_to_id(name))
        .map_or(-1, i64::from)
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn caravan_tokenizer_encode(
    tokenizer: *const Tokenizer,
    text: *const c_char,
    size: usize,
    count: *mut usize,
    error: *mut *mut c_char,
) -> *mut Token {
    guarded(error, || encode(&*tokenizer, bytes(text, size))).map_or(std::ptr::null_mut(), |tokens| {
        *count = tokens.len();
        Box::into_raw(tokens).cast()
    })
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn caravan_tokens_free(tokens: *mut Token, count: usize) {
    if !tokens.is_null() {
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(tokens, count)));
    }
}

/// # Safety
/// See the header.
#[no_mangle]
pub unsafe extern "C" fn caravan_tokenizer_decode(
    tokenizer: *const Tokenizer,
    ids: *const u32,
    count: usize,
    error: *mut *mut c_char,
) -> *mut c_char {
    let ids = if count == 0 { &[] } else { std::slice::from_raw_parts(ids, count) };
    guarded(error, || decode(&*tokenizer, ids)).map_or(std::ptr::null_mut(), CString::into_raw)
}
