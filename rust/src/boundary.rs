//! What every function of the C ABI needs: panics become errors, errors become strings that C can free.

use std::ffi::{c_char, CString};
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::sync::Once;

/// Runs `work`; on an error or panic puts a message into `error` and gives `None`.
///
/// # Safety
/// `error` points to a writable pointer.
pub unsafe fn guarded<T>(error: *mut *mut c_char, work: impl FnOnce() -> Result<T, String>) -> Option<T> {
    *error = std::ptr::null_mut();
    static QUIET: Once = Once::new();
    QUIET.call_once(|| set_hook(Box::new(|_| {})));
    let message = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => return Some(value),
        Ok(Err(message)) => message,
        Err(panic) => panic_message(panic.as_ref()),
    };
    *error = CString::new(message.replace('\0', " ")).unwrap_or_default().into_raw();
    None
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    format!("internal error: {}", text.unwrap_or("unknown"))
}

/// # Safety
/// `data` points to `size` readable bytes that outlive the slice.
pub unsafe fn bytes<'a>(data: *const c_char, size: usize) -> &'a [u8] {
    if size == 0 {
        return &[];
    }
    std::slice::from_raw_parts(data.cast(), size)
}

/// # Safety
/// `text` came out of this library and is not used again.
#[no_mangle]
pub unsafe extern "C" fn caravan_string_free(text: *mut c_char) {
    if !text.is_null() {
        drop(CString::from_raw(text));
    }
}
