//! Reading a shell line as the shell will run it.

mod reading;

pub use reading::{
    Assignment, Command, Connector, Line, Place, Redirection, RedirectionOperator, Scope, Word, WordFlags,
};
