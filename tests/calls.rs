//! What a command may ask of the kernel: the filter's answers, capabilities, descriptors, `/proc`, `/sys` and `/dev`.

mod descriptors;
mod filter;
mod first;
mod privileges;
mod special;
