//! Common Expression Language rules of the API schema, evaluated over JSON.
