//! The table of what can be had, a module for each thing.
//!
//! A thing has a folder with its name below the data root. Every file in it has a SHA-256 here, and this decides: not
//! the package, its version or the registry. A new thing is a module here and a row of [`THINGS`]; its name goes on the
//! list in `datasets/src/obtainable.rs`, too, so that errors can name it, and its folder into `.gitignore`.

mod efficientnet_lite0;
mod fashion_mnist;
mod foolbox_photographs;
mod librivox;
mod minilm_int8;
mod moonshine_tiny;
mod smollm2_135m;
mod ssdlite_mobilenet_v2;

use proctor_vocabulary::registry::UnknownName;

/// All things, in the order in which they are listed: models, then data sets.
pub const THINGS: &[&Thing] = &[
    &efficientnet_lite0::THING,
    &ssdlite_mobilenet_v2::THING,
    &moonshine_tiny::THING,
    &minilm_int8::THING,
    &smollm2_135m::THING,
    &fashion_mnist::THING,
    &foolbox_photographs::THING,
    &librivox::THING,
];

/// A model or a data set that packages have.
#[derive(Debug, PartialEq, Eq)]
pub struct Thing {
    /// Its name, and the name of its folder below the data root.
    pub name: &'static str,
    /// A line on what it is, without a full stop.
    pub about: &'static str,
    /// Its licence in words, as far as its authors state it.
    pub licence: &'static str,
    /// The packages that have its files.
    pub packages: &'static [&'static Package],
    /// The files in its folder.
    pub files: &'static [Placed],
    /// Names of other things that a benchmark with it needs.
    pub with: &'static [&'static str],
}

impl Thing {
    /// Returns the bytes that its packages have together.
    #[must_use]
    pub fn package_bytes(&self) -> u64 {
        self.packages.iter().map(|package| package.bytes).sum()
    }
}

/// A program that fetches packages from its registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Fetches wheels of Python, which are zip archives.
    Pip,
    /// Fetches packages of Node.js, which are tar archives behind gzip.
    Npm,
    /// Fetches packages of Debian and its kin, which `dpkg-deb` opens.
    Apt,
}

impl Client {
    /// Returns the name of the program.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pip => "pip",
            Self::Npm => "npm",
            Self::Apt => "apt",
        }
    }

    /// Returns the end of the names of its packages' files.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Pip => "whl",
            Self::Npm => "tgz",
            Self::Apt => "deb",
        }
    }
}

/// A package of a registry.
#[derive(Debug, PartialEq, Eq)]
pub struct Package {
    /// The program that fetches it.
    pub client: Client,
    /// Its name in the registry.
    pub name: &'static str,
    /// Its version. Each release of Debian has one alone, so apt is asked for no version.
    pub version: &'static str,
    /// Size of its file.
    pub bytes: u64,
    /// Path of the licence in it, if it has a file with it.
    pub licence: Option<&'static str>,
}

impl Package {
    /// Returns the command that fetches the package into the current folder, for the user.
    #[must_use]
    pub fn command(&self) -> String {
        let Self { client, name, version, .. } = self;
        match client {
            Client::Pip => format!("pip download --no-deps --only-binary :all: {name}=={version}"),
            Client::Npm => format!("npm pack {name}@{version}"),
            Client::Apt => format!("apt-get download {name}"),
        }
    }

    /// Returns whether a file with this name is one of its versions.
    #[must_use]
    pub fn is_named(&self, file_name: &str) -> bool {
        let Some(stem) = file_name.strip_suffix(self.client.extension()).and_then(|it| it.strip_suffix('.'))
        else {
            return false;
        };
        let (stem, name, mark) = match self.client {
            // Wheels have an underscore for each run of other marks.
            Client::Pip => (stem.to_lowercase(), self.name.replace(['-', '.'], "_").to_lowercase(), '-'),
            Client::Npm => (stem.to_owned(), self.name.to_owned(), '-'),
            Client::Apt => (stem.to_owned(), self.name.to_owned(), '_'),
        };
        let version = stem.strip_prefix(&name).and_then(|rest| rest.strip_prefix(mark));
        version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
    }
}

/// A file in the folder of a thing.
#[derive(Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its name there.
    pub name: &'static str,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, 64 lower-case hexadecimal digits.
    pub sha256: &'static str,
    /// The way from the package to it.
    pub making: Making,
}

impl Placed {
    /// Creates a file that a package has as it is, at the end of this path.
    pub(crate) const fn taken(
        package: &'static Package,
        path: &'static [&'static str],
        name: &'static str,
        bytes: u64,
        sha256: &'static str,
    ) -> Self {
        let member = Member { package, path, bytes, sha256: Some(sha256) };
        Self { name, bytes, sha256, making: Making::Taken(member) }
    }

    /// Returns what it is made of.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        match &self.making {
            Making::Taken(member) | Making::Unzipped(member) => std::slice::from_ref(member),
            Making::Converted(_, members) => members,
        }
    }
}

/// The way from a package to a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Making {
    /// The file of the package as it is.
    Taken(Member),
    /// The content of a gzip file in the package.
    Unzipped(Member),
    /// A model in another format, converted to ONNX.
    Converted(Converter, &'static [Member]),
}

/// A file in a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// The package.
    pub package: &'static Package,
    /// Its path in the package, or the path of a zip archive there and then the path in it.
    pub path: &'static [&'static str],
    /// Its size, or for a gzip file the size that it has at most.
    pub bytes: u64,
    /// Its SHA-256; a gzip file has none, since its content decides.
    pub sha256: Option<&'static str>,
}

impl Member {
    /// Returns its name without folders.
    #[must_use]
    pub fn file_name(&self) -> &'static str {
        let path = self.path.last().copied().unwrap_or_default();
        path.rsplit('/').next().unwrap_or(path)
    }
}

/// A conversion to ONNX, which the caller of [`get`](crate::get()) does: few programs are to be linked with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Converter {
    /// A checkpoint of PyTorch to the classifier EfficientNet-Lite0.
    EfficientnetLite0,
    /// A graph of TensorFlow.js and the parts of its weights to the detector SSDLite.
    SsdliteMobilenetV2,
}

/// Returns the thing with this name.
///
/// # Errors
/// With the near match.
pub fn thing(name: &str) -> Result<&'static Thing, UnknownName> {
    let found = THINGS.iter().copied().find(|thing| thing.name == name);
    let known: Vec<_> = THINGS.iter().map(|thing| thing.name).collect();
    found.ok_or_else(|| UnknownName::new("model or data set", name, &known))
}
