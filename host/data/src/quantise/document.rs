//! The document on a calibration, as a submission has to have one.

use std::fmt::Write;

use proctor_config::Benchmark;
use proctor_datasets::sha256_hex;
use proctor_display::markdown_table;
use proctor_quantise::{Plan, Quantised, WeightSteps};
use proctor_vocabulary::printable;

use super::samples::{CalibrationSamples, Origin};

/// Everything that the document says.
pub(super) struct Document<'a> {
    pub(super) benchmark: &'a Benchmark,
    pub(super) model: &'a str,
    pub(super) model_sha256: &'a str,
    pub(super) made: &'a str,
    pub(super) plan: &'a Plan,
    pub(super) quantised: &'a Quantised,
    pub(super) samples: &'a CalibrationSamples,
    pub(super) engine: &'a str,
    pub(super) steps: WeightSteps,
}

impl Document<'_> {
    /// Returns the text, in Markdown. It has no date and no path, so that the same work gives the same text.
    pub(super) fn text(&self) -> String {
        let mut text = format!("# Calibration of {}\n\n", code(self.made));
        self.sources(&mut text);
        self.method(&mut text);
        self.operations(&mut text);
        self.tensors(&mut text);
        let _ = writeln!(text, "\n## Samples\n");
        for name in &self.samples.names {
            let _ = writeln!(text, "- {}", code(name));
        }
        text
    }

    fn sources(&self, text: &mut String) {
        let Self { benchmark, samples, quantised, .. } = self;
        let version = benchmark.preprocessing.version().unwrap_or_default();
        let origin = match &samples.origin {
            Origin::Part(name) => format!("all or the first of data set {}", code(name)),
            Origin::List { name, sha256 } => format!("list {}, SHA-256 {}", code(name), code(sha256)),
            Origin::Folder(name) => format!("the files of folder {}", code(name)),
        };
        let rows = [
            ("model", format!("{}, SHA-256 {}", code(self.model), code(self.model_sha256))),
            ("made of it", format!("{}, SHA-256 {}", code(self.made), code(&sha256_hex(&quantised.bytes)))),
            ("benchmark", code(&benchmark.id)),
            ("data set", code(&benchmark.dataset)),
            ("preprocessing", format!("{}, version {version}", code(benchmark.preprocessing.name()))),
            ("samples", format!("{}: {origin}; {}", samples.indices.len(), samples.shared_in_words())),
            ("engine", format!("plugin {}, one thread for each sample", code(self.engine))),
            ("made by", format!("`host data quantise`, version {}", env!("CARGO_PKG_VERSION"))),
        ];
        *text +=
            &markdown_table(&["", ""], rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]));
    }

    fn method(&self, text: &mut String) {
        let weights = if self.plan.has_channel_scales() {
            "each output channel has its own scale, the largest absolute weight of the channel"
        } else {
            "each tensor has one scale, the largest absolute weight, since the file's version of ONNX's operators has \
             no others"
        };
        let _ = write!(
            text,
            "\n## Method\n\n\
             Post-training quantisation to 8-bit integers. No weight was trained, and no label was read.\n\n\
             - Weights: signed 8-bit integers, symmetric; {weights}, over {} steps. Rounded to the nearest, ties to \
             even.\n\
             - Biases: 32-bit integers, in the scale of the sums that they are added to.\n\
             - Activations: unsigned 8-bit integers with a zero point, one scale for each tensor: the difference of \
             the largest and the smallest value on the samples below, and zero, over 255. No value was cut off.\n\
             - The file has a pair of QuantizeLinear and DequantizeLinear behind each of these tensors. Engines \
             compute with the integers between the pairs, and sum in 32 bits.\n\
             - Inputs and outputs of the file are in f32.\n",
            self.steps.count()
        );
    }

    fn operations(&self, text: &mut String) {
        let _ = writeln!(text, "\n## Operations\n");
        let integers = self.plan.integers();
        let row = |(operator, count): (&&str, &usize)| {
            vec![(*operator).to_owned(), count.to_string(), "int8".to_owned()]
        };
        let kept = self.plan.kept().iter();
        let kept = kept.map(|kept| {
            vec![
                kept.operator.clone(),
                kept.count.to_string(),
                format!("float: it {}", cell(&kept.why.to_string())),
            ]
        });
        *text +=
            &markdown_table(&["operator", "number", "computed in"], integers.iter().map(row).chain(kept));
    }

    fn tensors(&self, text: &mut String) {
        let _ = writeln!(text, "\n## Ranges of the tensors\n");
        let rows = self.quantised.tensors.iter().map(|tensor| {
            vec![
                code(&tensor.name),
                tensor.range.low.to_string(),
                tensor.range.high.to_string(),
                tensor.scale.scale.to_string(),
                tensor.scale.zero_point.to_string(),
            ]
        });
        *text += &markdown_table(&["tensor", "smallest", "largest", "scale", "zero point"], rows);
    }
}

/// Returns a text as the cell of a table.
fn cell(text: &str) -> String {
    printable(text).replace('|', "\\|")
}

/// Returns a name in the font of code.
fn code(name: &str) -> String {
    format!("`{}`", cell(name).replace('`', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_break_a_table() {
        assert_eq!(code("a|b`c\n"), "`a\\|b'c\\n`");
    }
}
