//! Protected paths: what programs outside load by themselves, no command writes, whatever a rule allows.

mod attacks;
mod dots;
mod kept;
mod links;
mod meanwhile;
mod names;
mod places;
