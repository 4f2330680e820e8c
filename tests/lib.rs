//! Real commands in the real sandbox.
