//! Measuring one thing over and over again, and the line that tells of it.

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// How often a thing is measured; the least counts, since whatever else the machine does only adds to it.
const MEASUREMENTS: usize = 21;
/// How long one measurement takes, about.
const MEASUREMENT: Duration = Duration::from_millis(2);

/// What was measured.
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) time: Duration,
    /// What it may take.
    pub(crate) budget: Duration,
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\t{:.9}\t{:.9}", self.name, self.time.as_secs_f64(), self.budget.as_secs_f64())
    }
}

/// The time of the slowest question.
pub(crate) fn slowest<Q, A>(questions: impl IntoIterator<Item = Q>, ask: impl Fn(&Q) -> A) -> Duration {
    questions.into_iter().map(|question| least(|| ask(black_box(&question)))).max().unwrap_or_default()
}

/// How long it takes to do once.
pub(crate) fn least<A>(act: impl Fn() -> A) -> Duration {
    let once = time(1, &act).max(Duration::from_nanos(1));
    let times = u32::try_from(MEASUREMENT.as_nanos() / once.as_nanos()).unwrap_or(u32::MAX).max(1);
    (0..MEASUREMENTS).map(|_| time(times, &act) / times).min().unwrap_or_default()
}

fn time<A>(times: u32, act: impl Fn() -> A) -> Duration {
    let start = Instant::now();
    for _ in 0..times {
        black_box(act());
    }
    start.elapsed()
}
