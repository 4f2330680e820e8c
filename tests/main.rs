//! Real commands in the real sandbox, run by `cargo xtask test` as root and as an ordinary user.
#![forbid(unsafe_code)]

mod agree;
mod attacks;
mod bridge;
mod calls;
mod cases;
mod check;
mod environment;
mod explain;
mod files;
mod git;
mod input;
mod json;
mod launch;
mod library;
mod life;
mod many;
mod network;
mod probe;
mod protected;
mod scale;
mod settings;
mod terminal;
mod work;
