//! The lines of a recording, each an object of JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::call::Call;

/// Version of the form of a recording.
pub const RECORDING_VERSION: u32 = 1;

/// A line of a recording. Times are in ns since the recording began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Line {
    /// The first line: the host, and the settings that the user gave it.
    Head(Head),
    /// The plugin, once it is loaded.
    Plugin(RecordedPlugin),
    /// A call into the plugin begins.
    Call(Begun),
    /// A call into the plugin has returned.
    Return(Returned),
    /// The plugin calls its host.
    Host(Told),
    /// The run has ended. A recording without this line ends in a crash, or was cut off.
    End,
}

/// The first line of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// [`RECORDING_VERSION`].
    pub recording: u32,
    /// The program that recorded, with its version.
    pub program: String,
    /// Settings and options of the plugin as `--set` takes them: only non-defaults, and no paths of the
    /// machine.
    pub settings: BTreeMap<String, String>,
}

/// The plugin that was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedPlugin {
    /// Name of the plugin.
    pub name: String,
    /// Version of the plugin.
    pub version: String,
    /// Version of the ABI that its table follows.
    pub abi: String,
    /// SHA-256 of its library, or of the program that it is linked into.
    pub sha256: Option<String>,
}

/// The begin of a call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Begun {
    /// Number of the call, from 1 in the order of their begins.
    pub number: u64,
    /// Name of the function.
    pub call: CallName,
    /// Instant at which it began.
    pub at_ns: u64,
    /// Number of the thread, in the order of their first lines.
    pub thread: u32,
    /// Number of the instance, of a call for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<u32>,
    /// Options of `open`; demands of `load_model` and sizes of memory by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, String>,
    /// The samples of `prepare_samples`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prepared: Vec<Input>,
    /// Indices of the samples of `prepare_samples` as they lie in memory, including repeated ones; empty if
    /// that is the order of `prepared`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<u64>,
    /// Id and index of each sample of a batch or a query.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<(u64, u64)>,
    /// Samples of the query that were passed before, and of the whole query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<(u64, u64)>,
    /// Identity of a batch that is submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// Number of busy instances, in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<u32>,
}

/// A sample that was prepared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Position in the query sample library.
    pub index: u64,
    /// Size of its tensors together, in bytes.
    pub size_bytes: u64,
    /// Hash of its tensors, one after another; `None` if they lie in memory of a device.
    pub hash: Option<String>,
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Returned {
    /// Number of the call.
    pub number: u64,
    /// Duration of the call.
    pub took_ns: u64,
    /// Status, one of the ABI's.
    pub status: i32,
    /// Message, if it failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Code of the vendor's own.
    #[serde(skip_serializing_if = "is_zero")]
    pub vendor_code: i64,
    /// The answers to the samples of a batch, unless it was submitted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answer>,
    /// Service time of a batch in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_time_ns: Option<u64>,
}

/// The answer to a sample.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// The id that the sample was issued with.
    pub id: u64,
    /// Status, one of the ABI's.
    #[serde(skip_serializing_if = "is_ok")]
    pub status: i32,
    /// Size of its outputs together, in bytes, as the plugin says.
    pub size_bytes: u64,
    /// Hash of its outputs, one after another; `None` if the plugin reports impossible sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Number of its tokens.
    #[serde(skip_serializing_if = "is_none")]
    pub token_count: u32,
    /// Message of a failure.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// A call of the plugin to its host.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Told {
    /// Name of the function: `complete`, `first_token`, `tokens`, `done`, `log`, `metric` or `progress`.
    pub call: String,
    /// Instant at which it came.
    pub at_ns: u64,
    /// Number of the thread.
    pub thread: u32,
    /// The answers of `complete` and `done`, and the first tokens of `first_token`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answer>,
    /// Identity of the batch of `done`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// Status of the batch of `done`.
    #[serde(skip_serializing_if = "is_ok")]
    pub status: i32,
    /// The line of `log`, the name of `metric`, the task of `progress`, why the batch of `done` failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Value of `metric`; how much is done, of `progress`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
}

/// A call by its name, which may be one that only a newer program knows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallName(pub String);

impl From<Call> for CallName {
    fn from(call: Call) -> Self {
        Self(call.name().to_owned())
    }
}

impl CallName {
    /// Returns whether it is this call.
    #[must_use]
    pub fn is(&self, call: Call) -> bool {
        self.0 == call.name()
    }
}

// By reference, as serde wants it.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
fn is_ok(status: &i32) -> bool {
    *status == proctor_plugin_api::abi::PROCTOR_STATUS_OK
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
fn is_zero(code: &i64) -> bool {
    *code == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written_and_is_short() {
        let lines = [
            Line::Call(Begun {
                number: 7,
                call: Call::Execute.into(),
                at_ns: 5,
                thread: 2,
                instance: Some(1),
                samples: vec![(9, 4)],
                ..Begun::default()
            }),
            Line::Return(Returned {
                number: 7,
                took_ns: 11,
                answers: vec![Answer {
                    id: 9,
                    size_bytes: 40,
                    hash: Some("ab".to_owned()),
                    ..Answer::default()
                }],
                ..Returned::default()
            }),
        ];
        let texts: Vec<_> = lines.iter().map(|line| serde_json::to_string(line).unwrap()).collect();
        assert_eq!(
            texts,
            [
                r#"{"line":"call","number":7,"call":"execute","at_ns":5,"thread":2,"instance":1,"samples":[[9,4]]}"#,
                r#"{"line":"return","number":7,"took_ns":11,"status":0,"answers":[{"id":9,"size_bytes":40,"hash":"ab"}]}"#,
            ]
        );
        for (line, text) in lines.iter().zip(&texts) {
            assert_eq!(serde_json::from_str::<Line>(text).unwrap(), *line);
        }
    }
}
