//! A page, as tests read it.

use std::{fs, path::PathBuf};

use proctor_tests::Bench;
use serde_json::{Number, Value};

/// Server with batches in virtual time, above what the system serves: INVALID, with a queue.
pub(crate) const SERVER: &str = "--plugin mock --virtual-time --mode performance --scenario Server --batch-size 4 \
     --set issue=false --set mock.service=log-normal --set mock.service_us=2000 --set mock.per_sample_us=200 \
     --target-qps 1400 --duration 5s --set server_target_latency_ns=20000000";

/// A page that the program has written.
pub(crate) struct Page {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// A number on a page.
#[derive(Debug)]
pub(crate) struct Shown {
    /// Its key in the result.
    pub(crate) key: String,
    /// Its value, unrounded.
    pub(crate) value: Number,
    /// As people read it.
    pub(crate) text: String,
}

impl Page {
    /// Writes the page of these folders with the program.
    pub(crate) fn of(bench: &Bench, folders: &[PathBuf]) -> Self {
        let path = bench.file("page.html");
        let folders: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
        let finished = bench.host(&format!("report --output {} {}", path.display(), folders.join(" ")));
        assert_eq!(finished.code(), 0, "{finished}");
        assert_eq!(finished.stdout.trim_end(), path.display().to_string());
        let page = Self { text: fs::read_to_string(&path).unwrap(), path };
        page.assert_sound();
        page
    }

    /// Asserts that a page has no NaN or infinity as a number, and nothing that runs or loads.
    fn assert_sound(&self) {
        for absent in ["NaN", "inf ", "inf\"", "<script", "http://", "https://", "<img", "<link", "url("] {
            assert!(!self.text.contains(absent), "{absent} in the page {}", self.path.display());
        }
        let pictures = self.text.matches("<svg class=\"picture\" role=\"img\"").count();
        for part in ["<title id=", "<desc id="] {
            assert_eq!(self.text.matches(part).count(), pictures, "{part}");
        }
    }

    /// Every number of a result on the page.
    pub(crate) fn shown(&self) -> Vec<Shown> {
        let spans = self.text.split("data-key=\"").skip(1);
        let shown = spans.map(|rest| {
            let (key, rest) = rest.split_once("\" data-value=\"").unwrap();
            let (value, rest) = rest.split_once("\">").unwrap();
            let (text, _) = rest.split_once("</span>").unwrap();
            Shown { key: unescaped(key), value: serde_json::from_str(value).unwrap(), text: unescaped(text) }
        });
        shown.collect()
    }
}

fn unescaped(text: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    entities.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The value of a key: parts are between points, and a point within a part has a backslash before it.
pub(crate) fn value_of<'a>(json: &'a Value, key: &str) -> Option<&'a Value> {
    let key = key.replace("\\\\", "\u{1}").replace("\\.", "\u{2}");
    key.split('.').try_fold(json, |value, part| {
        let part = part.replace('\u{1}', "\\").replace('\u{2}', ".");
        match value {
            Value::Array(values) => values.get(part.parse::<usize>().ok()?),
            other => other.get(&part),
        }
    })
}
