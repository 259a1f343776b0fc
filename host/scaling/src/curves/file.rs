//! Libraries of curves as files.
//!
//! ```text
//! network,1,2,3
//! resnet50,9.7,14.9,21.8
//! mobilenet,4.1,4.3,4.7
//! ```
//! Latencies are in milliseconds, a column for each number of instances from 1 on. Empty lines do not count,
//! nor do lines that begin with `#`.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::CurveLibrary;

/// Latencies that can be in a file, in ms: a nanosecond to eleven days.
const LATENCIES_MS: std::ops::RangeInclusive<f64> = 1e-6..=1e9;

/// Reason why a library of curves cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum CurvesError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// The file cannot be written; its old content is still there.
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{} has no curves; begin it with network,1,2,3 and a line for each network, or remove it", path.display())]
    Empty { path: PathBuf },
    /// A line is not in the form that it should have.
    #[error("{}, line {line}: {fault}", path.display())]
    Line {
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        fault: LineFault,
    },
    #[error("the curve of \"{network}\" cannot be kept in {}: {fault}", path.display())]
    Curve { path: PathBuf, network: String, fault: LineFault },
}

/// The fault of a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum LineFault {
    #[error(
        "\"{got}\" stands where number {expected} should; the first line is network,1,2,3 and so on to at most {}",
        CurveLibrary::COUNT_MAX
    )]
    Header { expected: usize, got: String },
    #[error(
        "\"{got}\" is no name of a network; give one without commas, on one line, that does not begin with #"
    )]
    Name { got: String },
    #[error("\"{name}\" has a curve in line {first}; remove one of the two")]
    Repeated {
        name: String,
        /// The earlier line, from 1.
        first: usize,
    },
    #[error(
        "{got} latencies for {expected} numbers of instances; measure the network again, or remove the line"
    )]
    Count { expected: usize, got: usize },
    #[error(
        "\"{got}\" is not a latency in ms from 0.000001 to 1000000000; measure the network again, or remove the line"
    )]
    Latency { got: String },
}

impl CurveLibrary {
    /// Maximum number of columns of a file: more instances do not share a device.
    pub const COUNT_MAX: usize = 64;

    /// Reads a file of curves.
    ///
    /// # Errors
    /// If it cannot be read, has no curves, or a line is damaged.
    pub fn read(path: &Path) -> Result<Self, CurvesError> {
        let text =
            fs::read_to_string(path).map_err(|source| CurvesError::Read { path: path.to_owned(), source })?;
        Self::parse(path, &text)
    }

    /// Reads the text of a file; `path` is for errors.
    ///
    /// # Errors
    /// If it has no curves, or a line is damaged.
    pub fn parse(path: &Path, text: &str) -> Result<Self, CurvesError> {
        let numbered = text.lines().enumerate().map(|(position, line)| (position + 1, line.trim()));
        let mut lines = numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let at = |line, fault| CurvesError::Line { path: path.to_owned(), line, fault };
        let empty = || CurvesError::Empty { path: path.to_owned() };
        let (number, header) = lines.next().ok_or_else(empty)?;
        let mut library =
            Self { count: count(header).map_err(|fault| at(number, fault))?, curves: Vec::new() };
        let mut seen = BTreeMap::new();
        for (number, line) in lines {
            let (network, latencies) = curve(line, library.count).map_err(|fault| at(number, fault))?;
            if let Some(first) = seen.insert(network, number) {
                return Err(at(number, LineFault::Repeated { name: network.to_owned(), first }));
            }
            library.curves.push((network.to_owned(), latencies));
        }
        if library.curves.is_empty() { Err(empty()) } else { Ok(library) }
    }

    /// Puts a curve into a file, replacing an earlier one of this name; creates the file if there is none.
    ///
    /// The file is written under another name and renamed, so that it is always whole.
    ///
    /// # Errors
    /// If the file is damaged, has another number of columns, or cannot be written, or if the curve cannot be in it.
    pub fn keep(path: &Path, network: &str, latencies_ms: &[f64]) -> Result<(), CurvesError> {
        let unfit = |fault| CurvesError::Curve { path: path.to_owned(), network: network.to_owned(), fault };
        let row = line_of(network, latencies_ms);
        let count = latencies_ms.len();
        if network.contains([',', '\n', '\r']) || network.trim() != network {
            return Err(unfit(LineFault::Name { got: network.to_owned() }));
        }
        curve(&row, count.min(Self::COUNT_MAX)).map_err(unfit)?;
        let text = match fs::read_to_string(path) {
            Ok(text) => {
                let expected = Self::parse(path, &text)?.count;
                if count != expected {
                    return Err(unfit(LineFault::Count { expected, got: count }));
                }
                with_row(&text, network, &row)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => format!("{}\n{row}\n", header(count)),
            Err(source) => return Err(CurvesError::Read { path: path.to_owned(), source }),
        };
        write(path, &text).map_err(|source| CurvesError::Write { path: path.to_owned(), source })
    }
}

/// The text of a file of curves.
impl std::fmt::Display for CurveLibrary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", header(self.count))?;
        self.curves.iter().try_for_each(|(network, latencies)| writeln!(f, "{}", line_of(network, latencies)))
    }
}

fn header(count: usize) -> String {
    (1..=count).fold("network".to_owned(), |line, instances| format!("{line},{instances}"))
}

fn line_of(network: &str, latencies: &[f64]) -> String {
    latencies.iter().fold(network.to_owned(), |line, latency| format!("{line},{latency}"))
}

/// Returns the number of columns, by the first line.
fn count(header: &str) -> Result<usize, LineFault> {
    let mut count = 0;
    for cell in header.split(',').skip(1) {
        count += 1;
        if cell.trim() != count.to_string() || count > CurveLibrary::COUNT_MAX {
            return Err(LineFault::Header {
                expected: count.min(CurveLibrary::COUNT_MAX),
                got: cell.trim().to_owned(),
            });
        }
    }
    if count == 0 { Err(LineFault::Header { expected: 1, got: header.to_owned() }) } else { Ok(count) }
}

/// Returns the name and latencies of a line.
fn curve(line: &str, count: usize) -> Result<(&str, Vec<f64>), LineFault> {
    let mut cells = line.split(',').map(str::trim);
    let network = cells.next().unwrap_or_default();
    if network.is_empty() || network.starts_with('#') {
        return Err(LineFault::Name { got: network.to_owned() });
    }
    let latency = |cell: &str| {
        let value: Option<f64> = cell.parse().ok().filter(|value| LATENCIES_MS.contains(value));
        value.ok_or_else(|| LineFault::Latency { got: cell.to_owned() })
    };
    let latencies: Vec<f64> = cells.map(latency).collect::<Result<_, _>>()?;
    if latencies.len() != count || count == 0 {
        return Err(LineFault::Count { expected: count, got: latencies.len() });
    }
    Ok((network, latencies))
}

/// Returns the text with this row instead of the one of the same name, or at its end. Comments stay.
fn with_row(text: &str, network: &str, row: &str) -> String {
    let is_its = |line: &&str| line.split(',').next().is_some_and(|name| name.trim() == network);
    // The first line that counts is the header, regardless of its first cell.
    let counts = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with('#');
    let header = text.lines().position(|line| counts(&line)).unwrap_or(0);
    let place = text.lines().skip(header + 1).position(|line| counts(&line) && is_its(&line));
    let mut lines: Vec<&str> = text.lines().collect();
    match place {
        Some(place) => lines[header + 1 + place] = row,
        None => lines.push(row),
    }
    lines.join("\n") + "\n"
}

/// Writes a file whole or not at all.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        // Report the first error.
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<CurveLibrary, String> {
        CurveLibrary::parse(Path::new("curves.csv"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_is_read_and_written_as_it_is() {
        let text = "network,1,2\nresnet50,9.7,14.925\nmobilenet,4.1,4.3\n";
        let library = parse(text).unwrap();
        assert_eq!(library.curves().nth(1), Some(("mobilenet", &[4.1, 4.3][..])));
        assert_eq!(library.to_string(), text);
        let spaced = "# measured\n\n network , 1, 2\n resnet50 , 9.7, 14.925 \n# more\nmobilenet,4.1,4.3";
        assert_eq!(parse(spaced), Ok(library));
    }

    #[test]
    fn a_damaged_file_is_refused_with_line_value_and_remedy() {
        for (text, parts) in [
            ("", "curves.csv has no curves; begin it with network,1,2,3"),
            ("# nothing\n", "curves.csv has no curves"),
            ("network,1,2\n", "curves.csv has no curves"),
            (
                "network\nx,1\n",
                "line 1: \"network\" stands where number 1 should; the first line is network,1,2,3",
            ),
            ("network,1,3\n", "line 1: \"3\" stands where number 2 should"),
            ("resnet50,9.7,14.9\n", "line 1: \"9.7\" stands where number 1 should"),
            (
                "network,1,2\n\nx,1\n",
                "line 3: 1 latencies for 2 numbers of instances; measure the network again",
            ),
            ("network,1\nx,1,2\n", "line 2: 2 latencies for 1 numbers"),
            ("network,1\nx,fast\n", "line 2: \"fast\" is not a latency in ms from 0.000001"),
            ("network,1\nx,NaN\n", "\"NaN\" is not a latency"),
            ("network,1\nx,inf\n", "\"inf\" is not a latency"),
            ("network,1\nx,0\n", "\"0\" is not a latency"),
            ("network,1\nx,-3\n", "\"-3\" is not a latency"),
            ("network,1\n,3\n", "line 2: \"\" is no name of a network; give one"),
            ("network,1\nx,3\ny,3\nx,4\n", "line 4: \"x\" has a curve in line 2; remove one of the two"),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains(parts), "{message}");
        }
        let wide = header(CurveLibrary::COUNT_MAX + 1) + "\n";
        assert!(parse(&wide).unwrap_err().contains("to at most 64"));
    }

    #[test]
    fn a_curve_is_kept_beside_the_others_or_instead_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("curves.csv");
        CurveLibrary::keep(&path, "resnet50", &[9.7, 15.0]).unwrap();
        fs::write(&path, fs::read_to_string(&path).unwrap() + "# by hand\nnetwork,3,4").unwrap();
        CurveLibrary::keep(&path, "bert", &[30.0, 59.0]).unwrap();
        CurveLibrary::keep(&path, "network", &[3.5, 4.5]).unwrap();
        let expected = "network,1,2\nresnet50,9.7,15\n# by hand\nnetwork,3.5,4.5\nbert,30,59\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn a_curve_that_would_not_be_read_back_is_refused_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("curves.csv");
        CurveLibrary::keep(&path, "resnet50", &[9.7, 15.0]).unwrap();
        let before = fs::read_to_string(&path).unwrap();
        for (network, latencies, part) in [
            ("a,b", &[1.0, 2.0][..], "is no name"),
            ("#a", &[1.0, 2.0], "is no name"),
            ("a\nb", &[1.0, 2.0], "is no name"),
            ("", &[1.0, 2.0], "is no name"),
            ("a", &[1.0], "1 latencies for 2 numbers"),
            ("a", &[1.0, f64::NAN], "\"NaN\" is not a latency"),
        ] {
            let message = CurveLibrary::keep(&path, network, latencies).unwrap_err().to_string();
            assert!(message.contains(part), "{network}: {message}");
            assert_eq!(fs::read_to_string(&path).unwrap(), before);
        }
        fs::write(&path, "damaged").unwrap();
        let message = CurveLibrary::keep(&path, "a", &[1.0]).unwrap_err().to_string();
        assert!(message.contains("line 1"), "{message}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "damaged");
    }
}
