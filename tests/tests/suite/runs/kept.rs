//! Runs that are cut off: by the user, by the end of the plugin's process, by a disk that takes no more, by others at
//! the same time. The rest of one is whole and says what it is.

mod disk;
mod signals;
mod together;

use std::{fs, path::Path};

use proctor_tests::Finished;
use serde_json::Value;

/// The verdict as a user sees it, where nothing more is to be said of it.
const VALID: &str = "  verdict     VALID";

/// The line of LoadGen's summary.
const VALID_IN_SUMMARY: &str = "Result is : VALID";

/// Whether the program has called a run VALID that is on the disk.
fn says_valid(finished: &Finished) -> bool {
    finished.stdout.lines().any(|line| line == VALID)
}

/// The first thing that is wrong with what a run has left in `output` or in its `.partial`.
fn problem(output: &Path, finished: &Finished) -> Option<String> {
    let partial = output.with_added_extension("partial");
    match (output.is_dir(), partial.is_dir()) {
        (true, true) => Some("two folders".to_owned()),
        (true, false) => problem_of_whole(output, finished),
        (false, true) => problem_of_part(&partial, finished),
        (false, false) => {
            let is_told = finished.signal().is_some() || finished.code() != 0 && !finished.stderr.is_empty();
            (says_valid(finished) || !is_told).then(|| "nothing is left, and nothing says why".to_owned())
        }
    }
}

/// Checks a folder that has its final name: it is a whole run, and its verdict matches the exit code.
fn problem_of_whole(folder: &Path, finished: &Finished) -> Option<String> {
    let result = match result_in(folder) {
        Some(Ok(result)) => result,
        Some(Err(error)) => return Some(error),
        None => return Some("a whole folder without a result".to_owned()),
    };
    let is_valid = result["verdict"]["valid"] == true;
    let code = finished.signal().map_or_else(|| Some(finished.code()), |_| None);
    let has_rest = ["error.txt", "crash.txt", "running.lock", "result.json.tmp"]
        .iter()
        .find(|name| folder.join(name).exists());
    if let Some(name) = has_rest {
        return Some(format!("{name} in a whole folder"));
    }
    if !["mlperf_log_summary.txt", "samples.bin"].iter().all(|name| folder.join(name).is_file())
        && result["performance_run"].is_object()
    {
        return Some("the files of the performance run are not all there".to_owned());
    }
    (is_valid != (code == Some(0)) || is_valid != says_valid(finished))
        .then(|| format!("valid: {is_valid}, which is not what the program has said"))
}

/// Of a folder that is not whole: it says so, and nothing in it or on the screen is VALID.
fn problem_of_part(folder: &Path, finished: &Finished) -> Option<String> {
    let result = result_in(folder);
    if let Some(Err(error)) = result {
        return Some(error);
    }
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let is_told = result.is_some() || !text("error.txt").is_empty() || !text("crash.txt").is_empty();
    if !is_told {
        return Some("a part of a folder that does not say why it is none".to_owned());
    }
    let is_valid = result.is_some_and(|result| result.is_ok_and(|result| result["verdict"]["valid"] == true));
    if finished.signal().is_none() && finished.code() == 0 {
        return Some("exit code 0 of a run that is not whole".to_owned());
    }
    // The disk may have taken the result, and not what comes behind it.
    if !is_valid && (says_valid(finished) || text("mlperf_log_summary.txt").contains(VALID_IN_SUMMARY)) {
        return Some("VALID of a run that is not".to_owned());
    }
    None
}

/// The result in a folder, if there is one.
fn result_in(folder: &Path) -> Option<Result<Value, String>> {
    let text = fs::read_to_string(folder.join("result.json")).ok()?;
    Some(serde_json::from_str(&text).map_err(|error| format!("result.json is no JSON: {error}")))
}
