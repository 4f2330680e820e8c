//! What questions to the rules cost: an example of the tests measures, and its lines are held to the budgets that it
//! names.

use crate::cargo;
use crate::failure::{Context, Failure, Result};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The program that measures.
pub(super) struct Rules(PathBuf);

/// One of its lines.
#[derive(Debug, PartialEq)]
struct Figure {
    name: String,
    time: Duration,
    budget: Duration,
}

impl Rules {
    pub(super) fn build() -> Result<Self> {
        let [program] =
            cargo::build(&["--release", "--package", "palisade-tests", "--example", "rules"], ["rules"])?;
        Ok(Rules(program))
    }

    /// Runs it and prints a row for each of its lines.
    pub(super) fn print(&self) -> Result<()> {
        let mut command = Command::new(&self.0);
        cargo::leave(&mut command).stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = command.output().cannot("run the measurement of the rules")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let figures: Option<Vec<Figure>> = text.lines().map(Figure::parse).collect();
        let Some(figures) = figures.filter(|figures| output.status.success() && !figures.is_empty()) else {
            return Err(Failure::new(format!("the measurement of the rules says {:?}", text.trim())));
        };
        println!("\nQuestions to the rules\n{:<44} {:>10}", "", "time");
        figures.iter().for_each(|figure| println!("{}", figure.row()));
        Ok(())
    }
}

impl Figure {
    /// `NAME`, `SECONDS` and `BUDGET`, apart by tabs.
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split('\t').collect();
        let [name, time, budget] = words.as_slice() else { return None };
        let seconds = |text: &str| Duration::try_from_secs_f64(text.parse().ok()?).ok();
        Some(Figure { name: (*name).to_owned(), time: seconds(time)?, budget: seconds(budget)? })
    }

    fn row(&self) -> String {
        let verdict = if self.time <= self.budget { "within" } else { "OVER" };
        let microseconds = |time: Duration| format!("{:.1} µs", time.as_secs_f64() * 1e6);
        format!("{:<44} {:>10}  {verdict} {}", self.name, microseconds(self.time), microseconds(self.budget))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_measurement() {
        let figure = Figure::parse("host verdict\t0.0000012\t0.00001").expect("well-formed");
        assert_eq!(figure.row(), format!("{:<44} {:>10}  within 10.0 µs", "host verdict", "1.2 µs"));
        let slow = Figure::parse("host verdict\t0.0000101\t0.00001").expect("well-formed");
        assert_eq!(slow.row(), format!("{:<44} {:>10}  OVER 10.0 µs", "host verdict", "10.1 µs"));
        for line in ["", "name", "name\t1", "name\tx\t1", "name\t-1\t1", "name\t1\t1\t1"] {
            assert_eq!(Figure::parse(line), None, "{line:?}");
        }
    }
}
