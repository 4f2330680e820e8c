//! What rules about many files cost: the same command with 0 to 3,000 denied files, each in a directory of its own in
//! the writable root, so that each needs two mounts: one to hide it, one to keep its directory in place.
//!
//! Bare bubblewrap is given the same mounts. It is not given 3,000, for which it needs more arguments than it takes.

use super::subject::{Folder, Subject};
use super::{Times, time};
use crate::failure::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many files are denied.
const COUNTS: [usize; 5] = [0, 10, 100, 1_000, 3_000];
/// The most that bare bubblewrap is measured with: it takes seconds by then.
const MOST_BARE: usize = 1_000;
/// What some of them may take.
const BUDGETS: [(usize, Duration); 2] =
    [(1_000, Duration::from_millis(100)), (3_000, Duration::from_millis(300))];
/// Runs of each that are counted.
const RUNS: usize = 9;
/// Runs of bubblewrap with the most files.
const FEW_RUNS: usize = 3;

/// Measures and prints the curve.
pub(super) fn print(folder: &Folder, palisade: &Subject, bare: &Subject) -> Result<()> {
    println!("\nDenied files, each in a directory of its own; medians");
    println!("{:>8} {:>16} {:>16}", "", palisade.name, bare.name);
    for count in COUNTS {
        let files = make_files(folder, count)?;
        let settings = folder.denied().join("settings.json");
        fs::write(&settings, settings_text(&files)).cannot("write the settings")?;
        let options = ["--settings".into(), settings.into_os_string()];
        let ours = median(&palisade.with(options), RUNS)?;
        let theirs = match count {
            0..MOST_BARE => Some(median(&bare.with(masks(folder, &files)), RUNS)?),
            MOST_BARE => Some(median(&bare.with(masks(folder, &files)), FEW_RUNS)?),
            _ => None,
        };
        print_row(count, ours, theirs);
    }
    Ok(())
}

fn median(subject: &Subject, runs: usize) -> Result<Duration> {
    time(subject)?;
    let times: Vec<Duration> = (0..runs).map(|_| time(subject)).collect::<Result<_>>()?;
    Ok(Times::new(times).median())
}

fn print_row(count: usize, ours: Duration, theirs: Option<Duration>) {
    let shown = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
    let verdict = match BUDGETS.iter().find(|(at, _)| *at == count) {
        None => String::new(),
        Some((_, budget)) if ours <= *budget => format!("  within {}", shown(*budget)),
        Some((_, budget)) => format!("  OVER {}", shown(*budget)),
    };
    println!("{count:>8} {:>16} {:>16}{verdict}", shown(ours), theirs.map_or_else(|| "-".into(), shown));
}

fn make_files(folder: &Folder, count: usize) -> Result<Vec<PathBuf>> {
    let file = |index: usize| folder.work().join(format!("{index}/file"));
    for index in 0..count {
        let file = file(index);
        fs::create_dir_all(file.parent().unwrap_or(Path::new("/")))
            .and_then(|()| fs::write(&file, ""))
            .cannot("make the denied files")?;
    }
    Ok((0..count).map(file).collect())
}

fn settings_text(files: &[PathBuf]) -> String {
    let quoted: Vec<String> = files.iter().map(|file| format!("{:?}", file.display().to_string())).collect();
    format!("{{\"sandbox\": {{\"filesystem\": {{\"denyRead\": [{}]}}}}}}", quoted.join(", "))
}

/// The same in bubblewrap's words.
fn masks(folder: &Folder, files: &[PathBuf]) -> Vec<std::ffi::OsString> {
    let one = |file: &PathBuf| {
        let above = file.parent().unwrap_or(Path::new("/"));
        let pin = ["--bind".into(), above.into(), above.into()];
        let hide = ["--ro-bind".into(), folder.hidden(false).into(), file.into()];
        [pin, hide].concat()
    };
    files.iter().flat_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_in_both_languages() {
        let folder = Folder::create().expect("a temporary directory");
        let files = make_files(&folder, 2).expect("own directory");
        assert!(files.iter().all(|file| file.is_file()));
        let text = settings_text(&files);
        assert!(text.contains("/0/file\", \"") && text.ends_with("/1/file\"]}}}"), "{text}");
        assert_eq!(masks(&folder, &files).len(), 12);
    }
}
