//! Common Expression Language rules of the API schema, evaluated over JSON.

use std::ffi::c_char;

use cel::extractors::This;
use cel::objects::{Key, Map};
use cel::{Context, ExecutionError, Program, Value};
use std::collections::HashMap;
use std::sync::Arc;

use crate::boundary::{bytes, guarded};

const HOLDS: i32 = 0;
const BROKEN: i32 = 1;
const NOT_EVALUATED: i32 = 2;

// Every number of the schema is an int, as it is for the API server; serde_json alone would tell signs apart.
fn to_cel(json: serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Bool(value),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(value) => Value::Int(value),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(text) => Value::String(Arc::new(text)),
        serde_json::Value::Array(items) => Value::List(Arc::new(items.into_iter().map(to_cel).collect())),
        serde_json::Value::Object(entries) => {
            let map: HashMap<Key, Value> =
                entries.into_iter().map(|(key, value)| (Key::String(Arc::new(key)), to_cel(value))).collect();
            Value::Map(Map { map: Arc::new(map) })
        }
    }
}

// As in the API server's list library; here of ints alone.
fn sum(This(list): This<Arc<Vec<Value>>>) -> Result<Value, ExecutionError> {
    let total = list.iter().try_fold(0i64, |total, item| match item {
        Value::Int(number) => total.checked_add(*number),
        _ => None,
    });
    total.map(Value::Int).ok_or_else(|| ExecutionError::function_error("sum", "not a list of ints, or too large"))
}

fn check(rule: &[u8], json: &[u8]) -> Result<bool, String> {
    let rule = std::str::from_utf8(rule).map_err(|error| error.to_string())?;
    let json: serde_json::Value = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    let program = Program::compile(rule).map_err(|error| error.to_string())?;
    let mut context = Context::default();
    context.add_variable_from_value("self", to_cel(json));
    context.add_function("sum", sum).map_err(|error| format!("{error:?}"))?;
    match program.execute(&context) {
        Ok(Value::Bool(holds)) => Ok(holds),
        Ok(other) => Err(format!("the rule gives {:?} instead of a boolean", other.type_of())),
        Err(error) => Err(error.to_string()),
    }
}

/// See `rust/caravan_ffi.h`.
///
/// # Safety
/// Both texts are readable for their lengths, and `error` is writable.
#[no_mangle]
pub unsafe extern "C" fn caravan_cel_check(
    rule: *const c_char,
    rule_length: usize,
    json: *const c_char,
    json_length: usize,
    error: *mut *mut c_char,
) -> i32 {
    match guarded(error, || check(bytes(rule, rule_length), bytes(json, json_length))) {
        Some(true) => HOLDS,
        Some(false) => BROKEN,
        None => NOT_EVALUATED,
    }
}
