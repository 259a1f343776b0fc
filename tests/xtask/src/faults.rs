//! `cargo xtask faults`: whether the tests find mistakes.
//!
//! Each fault of the table below is planted in the sources, one at a time. Then run the tests that `.ci/run` would run
//! after such a change: those of the first tier, in the packages that are named, and, if none of them fails, each group
//! of the second tier whose inputs the fault has changed.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::{
    command::{git, output, workspace_root},
    test::{build, changed_groups, first_failure},
};

pub(crate) const LONG_ABOUT: &str = "Plant mistakes in the sources, and see whether the tests find them.

Plants one fault at a time, builds, and runs what `.ci/run` would run after such a change, until a test fails: first tests \
of the first tier, then the groups of the second tier that the fault concerns. Stops at a fault \
whose file has uncommitted changes. Restores each file afterwards, except after Ctrl-C. Fails if a fault is not found.";

pub(crate) const EXAMPLES: &str = "Examples:
  cargo xtask faults             all of them, which takes an hour
  cargo xtask faults softmax     those whose name contains softmax";

#[derive(Args)]
pub(crate) struct FaultArgs {
    /// Only the faults whose name contains this.
    name: Option<String>,
}

/// A mistake that somebody might make.
struct Fault {
    name: &'static str,
    /// The file that it is in.
    file: &'static str,
    /// Lines that are there once, and what becomes of them.
    right: &'static str,
    wrong: &'static str,
    /// Packages whose tests of the first tier run; the others would only take time.
    packages: &'static [&'static str],
}

const FAULTS: &[Fault] = &[
    Fault {
        name: "kernel gemm: a product that loses its last column of b",
        file: "plugins/device/src/kernels/gemm.c",
        right: "for (int lane = 0; lane < WIDTH; lane++) {\n                    const int at",
        wrong: "for (int lane = 0; lane < WIDTH - 1; lane++) {\n                    const int at",
        packages: &["proctor-opencl"],
    },
    Fault {
        name: "kernel softmax: the greatest element is not subtracted where it is rounded",
        file: "plugins/device/src/kernels/rows.c",
        right: "IS_NARROW ? exp(READ(from, from_begin + begin + (integer)j * inner) - greatest)",
        wrong: "IS_NARROW ? exp(READ(from, from_begin + begin + (integer)j * inner))",
        packages: &["proctor-opencl"],
    },
    Fault {
        name: "kernel recurrent: a reversed direction begins one step late",
        file: "plugins/device/src/kernels/recurrent.c",
        right: "? ends[s] - 1 - step : step;",
        wrong: "? ends[s] - step : step;",
        packages: &["proctor-opencl"],
    },
    Fault {
        name: "kernel attention: scores are not scaled",
        file: "plugins/device/src/kernels/attention.c",
        right: "= scale * READ(q_from",
        wrong: "= READ(q_from",
        packages: &["proctor-opencl"],
    },
    Fault {
        name: "driver of CUDA: a convolution of cuDNN forgets its dilations",
        file: "plugins/cuda/src/convolution.rs",
        right: "library.windows([pads, strides, dilations], groups, math)?",
        wrong: "library.windows([pads, strides, strides], groups, math)?",
        packages: &["proctor-cuda"],
    },
    Fault {
        name: "engine candle: a convolution of single channels without its bias",
        file: "plugins/candle/src/ops/depthwise.rs",
        right: "y.fill(self.bias);",
        wrong: "y.fill(0.0 * self.bias);",
        packages: &["proctor-candle"],
    },
    Fault {
        name: "engine cpu-rnn: a GRU that mixes the state and the candidate the wrong way round",
        file: "plugins/cpu-rnn/kernels/src/body/gru_before.rs",
        right: "update.fma(before.sub(candidates[n]), candidates[n])",
        wrong: "update.fma(candidates[n].sub(before), before)",
        packages: &["proctor-rnn-kernels", "proctor-rnn-engine"],
    },
    Fault {
        name: "reader of ONNX in cpu-rnn: a GRU that resets after the product is taken for the other",
        file: "plugins/cpu-rnn/models/src/onnx/node.rs",
        right: "attributes.flag(\"linear_before_reset\", false)?",
        wrong: "!attributes.flag(\"linear_before_reset\", false)?",
        packages: &["proctor-rnn-models"],
    },
    Fault {
        name: "rule of the boundary: an output of the wrong size is taken",
        file: "host/plugin-host/src/objects/output.rs",
        right: "let fits = self.fits(output, size);",
        wrong: "let fits = self.fits(output, size) || written.lent.is_null();",
        packages: &["proctor-plugin-host"],
    },
    Fault {
        name: "rule of the boundary: samples that the plugin has overwritten are not looked at",
        file: "host/run/src/bed/sample_library.rs",
        right: "self.state().faults.extend(overwritten);",
        wrong: "self.state().faults.extend(overwritten.filter(|_| false));",
        packages: &["proctor-run", "proctor-tests"],
    },
    Fault {
        name: "load generator: gaps between arrivals are drawn with another mean",
        file: "host/loadgen/src/plan/offsets.rs",
        right: "    -(1.0 - rng.canonical()).ln()\n",
        wrong: "    -(1.0 - rng.canonical()).ln() * 1.001\n",
        packages: &["proctor-loadgen"],
    },
    Fault {
        name: "timed step: boxes are stretched from their corner",
        file: "plugins/timed-steps/src/boxes/coder.rs",
        right: "let half = [0.5 * (stretch(dw) * width), 0.5 * (stretch(dh) * height)];",
        wrong: "let half = [0.5 * (stretch(dw) * width), 0.5 * (stretch(dw) * height)];",
        packages: &["proctor-timed-steps"],
    },
    Fault {
        name: "judge of transcripts: a word too many costs nothing",
        file: "accuracy/scores/src/speech.rs",
        right: "row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);",
        wrong: "row[j + 1] = replaced.min(row[j] + 1).min(diagonal);",
        packages: &["proctor-scores"],
    },
    Fault {
        name: "reader of NIfTI: the intercept is left out",
        file: "datasets/nifti-file/src/voxels.rs",
        right: "*number = *number * slope + intercept;",
        wrong: "*number = *number * slope + 0.0 * intercept;",
        packages: &["proctor-nifti-file"],
    },
    Fault {
        name: "judge of volumes: Dice counts the answer twice",
        file: "accuracy/scores/src/segmentation.rs",
        right: "sum(classes.clone(), all.clone()), sum(all, classes)]",
        wrong: "sum(classes.clone(), all.clone()), sum(classes, all)]",
        packages: &["proctor-scores"],
    },
];

/// Plants the faults, one after the other.
///
/// # Errors
/// If one is not found, cannot be planted, or does not compile.
pub(crate) fn run(args: &FaultArgs) -> Result<()> {
    let is_named = |fault: &&Fault| args.name.as_ref().is_none_or(|name| fault.name.contains(name.as_str()));
    let faults: Vec<_> = FAULTS.iter().filter(is_named).collect();
    ensure!(!faults.is_empty(), "no fault has such a name");
    let mut found = Vec::new();
    for fault in faults {
        println!("\nplanting: {}", fault.name);
        found.push((fault.name, find(fault)?));
    }
    // What was built last had a fault.
    build()?;
    println!();
    for (name, by) in &found {
        println!("{name}\n    {}", by.as_deref().unwrap_or("NOT FOUND"));
    }
    let missed = found.iter().filter(|(_, by)| by.is_none()).count();
    ensure!(missed == 0, "{missed} of {} faults were not found", found.len());
    Ok(())
}

/// Returns the tier and the test that find a fault, if one does.
fn find(fault: &Fault) -> Result<Option<String>> {
    let _planted = Planted::plant(fault)?;
    if fault.packages.contains(&"proctor-tests") {
        // These start the program, which has to have the fault.
        build()?;
    }
    let packages: Vec<_> = fault.packages.iter().map(|package| format!("--package={package}")).collect();
    if let Some(test) = first_failure("default", &packages)? {
        return Ok(Some(format!("first tier: {test}")));
    }
    build()?;
    for group in changed_groups()? {
        if let Some(test) = first_failure(&group.name, &[])? {
            return Ok(Some(format!("second tier, {}: {test}", group.name)));
        }
    }
    Ok(None)
}

/// A fault in its file, which gets back what it had when this ends.
struct Planted {
    path: PathBuf,
    before: String,
}

impl Planted {
    fn plant(fault: &Fault) -> Result<Self> {
        let changed = output(git("status --porcelain --").arg(fault.file))?;
        ensure!(changed.is_empty(), "{} is not as it was committed; commit it first", fault.file);
        let path = workspace_root().join(fault.file);
        let before = fs::read_to_string(&path).with_context(|| format!("cannot read {}", fault.file))?;
        let wrong = with_fault(&before, fault)?;
        let planted = Self { path, before };
        fs::write(&planted.path, wrong).with_context(|| format!("cannot write {}", fault.file))?;
        Ok(planted)
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        if let Err(error) = fs::write(&self.path, &self.before) {
            eprintln!("error: {} has a planted fault still: {error}", self.path.display());
        }
    }
}

fn with_fault(text: &str, fault: &Fault) -> Result<String> {
    let count = text.matches(fault.right).count();
    if count != 1 {
        bail!("{} has the lines of the fault `{}` {count} times, not once", fault.file, fault.name);
    }
    Ok(text.replacen(fault.right, fault.wrong, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_has_its_place() {
        for fault in FAULTS {
            let text = fs::read_to_string(workspace_root().join(fault.file)).unwrap();
            let wrong = with_fault(&text, fault).unwrap_or_else(|error| panic!("{error}"));
            assert_ne!(wrong, text, "{}", fault.name);
        }
    }
}
