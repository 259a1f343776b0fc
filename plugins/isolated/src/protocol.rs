//! Messages between the processes. The host makes one request at a time, and the other process answers; unsolicited
//! messages take another channel.

use std::{path::PathBuf, time::Duration};

use proctor_plugin_api::{Device, Manifest, ModelRequest, OptionValue, PluginError, vocabulary::InputForm};
use serde::{Deserialize, Serialize};

use crate::channels::{mailbox::Capacity, socket::Message};

/// Longest message of the host in bytes: a list of a few million samples.
const OF_HOST_BYTES_MAX: usize = 1 << 28;

/// Longest reply in bytes: a text of a plugin, such as an explanation, or the texts of its options, have at most 1 MB,
/// and come with notes about it, with 4096 metrics of its own.
const REPLY_BYTES_MAX: usize = 4 << 20;

/// Longest unsolicited message in bytes: a line of the log is cut at 4 KB.
const EVENT_BYTES_MAX: usize = 64 << 10;

/// Longest first message.
const RESTRICTIONS_BYTES_MAX: usize = 64;

/// The first message to the other process, with three files: its channel for unsolicited messages, the file for its
/// crash report, and the memory for its reports on samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// The most detailed `PROCTOR_LOG` level that is kept.
    pub log_level: u32,
    /// Maximum number of bytes of memory that it may map; `None` for no limit.
    pub memory_max_bytes: Option<u64>,
    /// Parts of the machine that it may use.
    pub fence: Fence,
}

impl Message for Greeting {
    const BYTES_MAX: usize = OF_HOST_BYTES_MAX;
}

/// Folders where systems keep programs, libraries, settings and information about themselves. The other process may
/// read them. From `/run` it gets the drivers and programs of NixOS, and the names of servers, but not the rest, which
/// has the keys of the user's other programs.
pub const OF_SYSTEM: [&str; 15] = [
    "/bin",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix",
    "/opt",
    "/proc",
    "/run/current-system",
    "/run/opengl-driver",
    "/run/systemd/resolve",
    "/sbin",
    "/snap",
    "/sys",
    "/usr",
];

/// Parts of the machine that the other process may use besides the system's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence {
    /// Files and folders that it may read.
    #[serde(with = "paths")]
    pub read: Vec<PathBuf>,
    /// Files of its model, which it may read.
    #[serde(with = "paths")]
    pub model: Vec<PathBuf>,
    /// Folders that it may list, including the folders below.
    #[serde(with = "paths")]
    pub list: Vec<PathBuf>,
    /// Devices, and folders of them, that it may use.
    #[serde(with = "paths")]
    pub devices: Vec<PathBuf>,
    /// Files and folders that it may write, too.
    #[serde(with = "paths")]
    pub write: Vec<PathBuf>,
    /// Folder for the files of the plugin, which it may write: its home, and its short-lived files. None before its
    /// name is known.
    #[serde(with = "optional_path")]
    pub home: Option<PathBuf>,
    /// Whether it may use the network.
    pub network: bool,
}

/// A call for the main thread of the other process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Loads a plugin: a library, or one that is linked in by this name.
    Load(Code),
    /// Opens it.
    Open(Opening),
    /// Lists its devices.
    Devices,
    /// Chooses the form of the input with this position.
    InputForm(ModelRequest, usize),
    /// Loads a model.
    LoadModel(ModelRequest),
    /// Explains how it will run.
    Explain,
    /// Makes an instance; its mailbox is attached.
    CreateInstance {
        /// Number of the instance.
        index: u32,
        /// Size of the mailbox.
        capacity: Capacity,
    },
    /// Ends an instance, which gets no further calls.
    DestroyInstance(u32),
    /// Makes a thread that takes queries; its mailbox is attached.
    CreateIssuer(Capacity),
    /// Announces an attached range of memory with samples.
    Range,
    /// Announces samples, in the ranges that came before.
    Prepare(Vec<PlacedSample>),
    /// Ends the use of the samples.
    Release,
    /// Asks this instance, or the model, to compute samples and discard the answers.
    WarmUp {
        /// Number of the instance; `None` for the model.
        instance: Option<u32>,
        /// Samples to compute.
        samples: Vec<u64>,
    },
    /// Begins the timed part.
    Start,
    /// Reads the counter of energy.
    ReadEnergy,
    /// Ends the timed part.
    Stop,
    /// Unloads the model.
    UnloadModel,
    /// Closes the plugin.
    Close,
    /// Answers measuring calls, which do not reach the plugin, in the attached memory.
    Echo,
    /// Does nothing, except to return the notes that come with each answer.
    Notes,
    /// Turns the marking of rooms for outputs on or off.
    MarkOutputs(bool),
}

impl Message for Request {
    const BYTES_MAX: usize = OF_HOST_BYTES_MAX;
}

impl Request {
    /// Returns the name of the call of the plugin that it leads to, in the form of the ABI.
    #[must_use]
    pub fn call(&self) -> &'static str {
        match self {
            Self::Load(_) => "loading the library",
            Self::Open(_) => "open",
            Self::Devices => "list",
            Self::InputForm(..) => "choose",
            Self::LoadModel(_) => "load_model",
            Self::Explain => "explain",
            Self::CreateInstance { .. } => "create_instance",
            Self::DestroyInstance(_) => "destroy_instance",
            Self::CreateIssuer(_) => "issue",
            Self::Range | Self::Prepare(_) => "prepare_samples",
            Self::Release => "release_samples",
            Self::WarmUp { .. } => "warm_up",
            Self::Start => "start",
            Self::ReadEnergy => "the reading of energy",
            Self::Stop => "stop",
            Self::UnloadModel => "unload_model",
            Self::Close => "close",
            Self::Echo | Self::Notes | Self::MarkOutputs(_) => "nothing",
        }
    }
}

/// Place of a plugin's code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Code {
    /// A library.
    Library(#[serde(with = "path")] PathBuf),
    /// The program of the other process, under this name.
    Linked(String),
}

/// The circumstances that a plugin is opened in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// Options of the plugin.
    pub options: Vec<(String, OptionValue)>,
    /// Cache folder.
    #[serde(with = "optional_path")]
    pub cache_folder: Option<PathBuf>,
    /// The time of CLOCK_MONOTONIC at which the host's clock is 0, in ns.
    pub clock_origin_ns: u64,
    /// Time that a thread spins for its next batch.
    pub spin: Duration,
}

/// A sample in ranges of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedSample {
    /// Position in the query sample library.
    pub index: u64,
    /// Inputs of the sample.
    pub inputs: Vec<PlacedTensor>,
}

/// A tensor in ranges of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedTensor {
    /// Number of the range.
    pub range: usize,
    /// Position of the first byte there.
    pub offset: usize,
    /// Extent of each dimension.
    pub shape: Vec<usize>,
}

/// The answer to a request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reply {
    /// Result of the request.
    pub answer: Answer,
    /// Notes of the other process about the plugin, for the host to decode; empty if there are none.
    pub notes: Vec<u8>,
    /// Number of the reports on samples that came before.
    pub report_count: u64,
}

impl Message for Reply {
    const BYTES_MAX: usize = REPLY_BYTES_MAX;
}

/// The result of a request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Answer {
    /// The call succeeded.
    Done,
    /// The plugin is loaded.
    Loaded(Box<Description>),
    /// The devices.
    Devices(Vec<Device>),
    /// The form of an input.
    InputForm(InputForm),
    /// The explanation.
    Explanation(Option<String>),
    /// The counter of energy in joules.
    Energy(Option<f64>),
    /// Reason why the call failed.
    Failed(Failure),
}

/// A plugin as the other process describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// Own description.
    pub manifest: Manifest,
    /// Major and minor version of the ABI that it follows.
    pub abi: (u32, u32),
    /// Whether the types were compared field by field.
    pub layout_checked: bool,
    /// Whether it can be warmed up with whole queries.
    pub has_warm_up: bool,
}

/// The first message of the other process, from before any code of a plugin: restrictions that fence it in, if the
/// system has them. It carries the socket for questions to the host about system calls, if there is one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restrictions {
    /// Version of landlock that holds, which keeps it from reading foreign files, and from the memory of other
    /// processes; 0 for none.
    pub landlock_abi: u32,
    /// Whether files and folders that it was not given can be changed by it in no way, either.
    pub files: bool,
    /// Whether other processes are out of reach of its signals.
    pub signals: bool,
    /// Whether its calls of the system go through a filter.
    pub calls: bool,
    /// Whether the network is out of reach.
    pub network: bool,
    /// Whether it has given up all capabilities.
    pub capabilities: bool,
    /// Whether the host decides on calls that name a thread or a process. Otherwise they are let through.
    pub asks: bool,
}

impl Message for Restrictions {
    const BYTES_MAX: usize = RESTRICTIONS_BYTES_MAX;
}

impl Restrictions {
    /// All of them, with the version of landlock that has all requested features.
    pub const ALL: Self = Self {
        landlock_abi: 6,
        files: true,
        signals: true,
        calls: true,
        network: true,
        capabilities: true,
        asks: true,
    };

    /// Returns whether it lacks none of the other ones.
    pub(crate) fn include(&self, other: &Self) -> bool {
        let switches =
            |one: &Self| [one.files, one.signals, one.calls, one.network, one.capabilities, one.asks];
        self.landlock_abi >= other.landlock_abi
            && switches(self).iter().zip(switches(other)).all(|(own, other)| *own || !other)
    }
}

/// Reason why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// One of the `PROCTOR_STATUS` constants.
    pub status: i32,
    /// Code of the vendor's own; 0 for none.
    pub vendor_code: i64,
    /// Message of the failure.
    pub message: String,
}

impl From<Failure> for PluginError {
    fn from(failure: Failure) -> Self {
        let Failure { status, vendor_code, message } = failure;
        Self { status, vendor_code, message }
    }
}

/// An unsolicited message of the other process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// A line of the plugin's log.
    Log {
        /// One of the `PROCTOR_LOG` levels.
        level: u32,
        /// The part of the plugin that says it.
        source: String,
        /// Text of the line.
        message: String,
    },
    /// A long call makes progress.
    Progress {
        /// Completed part.
        done: u64,
        /// Size of the whole; 0 if unknown.
        total: u64,
        /// The work at hand.
        task: String,
    },
    /// The flush has ended.
    Flushed,
}

impl Message for Event {
    const BYTES_MAX: usize = EVENT_BYTES_MAX;
}

/// An unsolicited message of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// All work should end soon.
    Cancel,
    /// No more queries will come in this phase.
    Flush,
}

impl Message for Notice {
    const BYTES_MAX: usize = OF_HOST_BYTES_MAX;
}

/// A path as its bytes, which need not be UTF-8, as they must be in serde's own form of a path.
mod path {
    use std::{
        ffi::OsString,
        path::{Path, PathBuf},
    };

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        OsString::deserialize(deserializer).map(PathBuf::from)
    }
}

/// A path as its bytes, if there is one.
mod optional_path {
    use std::{
        ffi::OsString,
        path::{Path, PathBuf},
    };

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(Path::as_os_str).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<OsString>::deserialize(deserializer)?.map(PathBuf::from))
    }
}

/// Paths as their bytes.
mod paths {
    use std::{ffi::OsString, path::PathBuf};

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| path.as_os_str()))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
        let paths = Vec::<OsString>::deserialize(deserializer)?;
        Ok(paths.into_iter().map(PathBuf::from).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    use proctor_plugin_api::{ModelSupport, OptionSpec};

    use super::*;

    #[test]
    fn paths_that_are_no_utf8_cross_over() {
        let path = PathBuf::from(OsStr::from_bytes(b"/n\xffn/libchip_sut.so"));
        let paths = vec![path.clone()];
        let fence = Fence {
            read: paths.clone(),
            model: paths.clone(),
            list: paths.clone(),
            devices: paths.clone(),
            write: paths,
            home: Some(path.clone()),
            network: false,
        };
        let bytes = postcard::to_stdvec(&fence).unwrap();
        assert_eq!(postcard::from_bytes::<Fence>(&bytes).unwrap(), fence);
        let cache_folder = Some(path.clone());
        let opening = Opening { options: Vec::new(), cache_folder, clock_origin_ns: 0, spin: Duration::ZERO };
        let bytes = postcard::to_stdvec(&opening).unwrap();
        assert_eq!(postcard::from_bytes::<Opening>(&bytes).unwrap(), opening);
        let code = Code::Library(path);
        let bytes = postcard::to_stdvec(&code).unwrap();
        assert_eq!(postcard::from_bytes::<Code>(&bytes).unwrap(), code);
    }

    #[test]
    fn restrictions_of_which_one_is_missing_are_fewer() {
        let all = Restrictions::ALL;
        assert!(postcard::to_stdvec(&all).unwrap().len() <= RESTRICTIONS_BYTES_MAX);
        assert!(all.include(&all) && all.include(&Restrictions::default()));
        for fewer in [
            Restrictions { landlock_abi: 5, ..all },
            Restrictions { files: false, ..all },
            Restrictions { signals: false, ..all },
            Restrictions { calls: false, ..all },
            Restrictions { network: false, ..all },
            Restrictions { capabilities: false, ..all },
            Restrictions { asks: false, ..all },
        ] {
            assert!(!fewer.include(&all) && all.include(&fewer), "{fewer:?}");
        }
    }

    #[test]
    fn a_manifest_with_any_range_crosses_over() {
        let manifest = Manifest::new("p", "1", "")
            .model(ModelSupport::new("*", "*"))
            .option(OptionSpec::float("sigma", 0.0, f64::NEG_INFINITY..=f64::INFINITY, ""))
            .option(OptionSpec::integer("threads", 1, i64::MIN..=i64::MAX, ""));
        let bytes = postcard::to_stdvec(&manifest).unwrap();
        assert_eq!(postcard::from_bytes::<Manifest>(&bytes).unwrap(), manifest);
    }
}
