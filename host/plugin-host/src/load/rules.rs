//! The rules of a manifest, for one that was read here and for one that another process has read.

use std::collections::HashSet;

use proctor_plugin_api::{Manifest, ModelSupport, OptionKind, OptionSpec, abi::PROCTOR_TEXT_LENGTH_MAX};

use crate::{error::PluginHostError, foreign::Reader};

/// Maximum number of bytes in the texts of all options together. As long as a single text may be.
const OPTION_TEXT_BYTES_MAX: usize = PROCTOR_TEXT_LENGTH_MAX;

/// Bytes of the texts of options so far.
#[derive(Default)]
pub(super) struct OptionTexts(usize);

impl OptionTexts {
    /// Adds the bytes of another option.
    ///
    /// # Errors
    /// All together are too many.
    pub(super) fn add(&mut self, reader: Reader<'_>, option: &OptionSpec) -> Result<(), PluginHostError> {
        let words = match &option.kind {
            OptionKind::Choice(words) => words.iter().map(String::len).sum(),
            _ => 0,
        };
        self.0 += option.help.len() + option.default.as_ref().map_or(0, String::len) + words;
        if self.0 > OPTION_TEXT_BYTES_MAX {
            let what = format!("its options have more than {OPTION_TEXT_BYTES_MAX} bytes of text");
            return Err(reader.bad_manifest(&what));
        }
        Ok(())
    }
}

/// Holds a manifest against the rules.
///
/// # Errors
/// Returns the first value that breaks one.
pub(super) fn check_manifest(reader: Reader<'_>, manifest: &Manifest) -> Result<(), PluginHostError> {
    let Manifest { name, vendor, version, license, description, models, options, .. } = manifest;
    let wrong = |what: &str| Err(reader.bad_manifest(what));
    if !manifest.execute && !manifest.issue {
        return wrong("of the capabilities EXECUTE and ISSUE, a plugin has to have one");
    }
    reader.check_name("manifest.name", name)?;
    reader.check_line("manifest.vendor", vendor)?;
    reader.check_required_line("manifest.version", version)?;
    reader.check_required_line("manifest.license", license)?;
    reader.check_line("manifest.description", description)?;
    if !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
        return wrong(&format!("the name {name:?} has more than lower-case letters, digits and hyphens"));
    }
    if manifest.concurrent_issue && !manifest.issue {
        return wrong("the capability CONCURRENT_ISSUE is there without ISSUE");
    }
    if manifest.virtual_time && !manifest.execute {
        return wrong("the capability VIRTUAL_TIME is there without EXECUTE");
    }
    if models.is_empty() {
        return wrong("it declares no models");
    }
    for (what, count) in [("manifest.models", models.len()), ("manifest.options", options.len())] {
        reader.check_count(what, count)?;
    }
    for (index, row) in models.iter().enumerate() {
        check_model(reader, index, row)?;
    }
    let (mut texts, mut names) = (OptionTexts::default(), HashSet::new());
    for (index, option) in options.iter().enumerate() {
        check_option(reader, index, option)?;
        texts.add(reader, option)?;
        if !names.insert(&option.name) {
            return wrong(&format!("option \"{}\" is declared twice", option.name));
        }
    }
    Ok(())
}

fn check_model(reader: Reader<'_>, index: usize, row: &ModelSupport) -> Result<(), PluginHostError> {
    let ModelSupport { model, format, precision, device, scenarios, .. } = row;
    for (field, text) in [("model", model), ("format", format), ("precision", precision), ("device", device)]
    {
        reader.check_name(&format!("models[{index}].{field}"), text)?;
    }
    let wrong = |what: String| Err(reader.bad_manifest(&format!("models[{index}]{what}")));
    if scenarios.is_empty() {
        return wrong(" has no scenario".to_owned());
    }
    if model.find('*').is_some_and(|at| at + 1 < model.len()) {
        return wrong(format!(".model {model:?} has a * before its end"));
    }
    if format.contains('*') && format != "*" {
        return wrong(format!(".format {format:?} has a *, which stands for any format, alone"));
    }
    Ok(())
}

fn check_option(reader: Reader<'_>, index: usize, option: &OptionSpec) -> Result<(), PluginHostError> {
    let OptionSpec { name, kind, default, help } = option;
    reader.check_name(&format!("options[{index}].name"), name)?;
    reader.check_line(&format!("options[{index}].help"), help)?;
    let wrong = |what: &str| Err(reader.bad_manifest(&format!("option \"{name}\" {what}")));
    if !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
        return wrong("has more in its name than lower-case letters, digits and underscores");
    }
    let is_range = match kind {
        OptionKind::Integer(range) => range.start() <= range.end(),
        OptionKind::Float(range) => range.start() <= range.end(),
        OptionKind::Boolean | OptionKind::Text | OptionKind::Path | OptionKind::Choice(_) => true,
    };
    if !is_range {
        return wrong("has a range whose smallest value is above the largest");
    }
    if let OptionKind::Choice(words) = kind {
        let what = format!("choices of option \"{name}\"");
        reader.check_count(&what, words.len())?;
        words.iter().try_for_each(|word| reader.check_name(&what, word))?;
        if words.is_empty() {
            return wrong("is a choice without words");
        }
    }
    let Some(default) = default else { return Ok(()) };
    reader.check_line(&format!("options[{index}].default_value"), default)?;
    match option.parse(default) {
        Ok(_) => Ok(()),
        Err(error) => wrong(&format!("has a default that it does not take: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use proctor_plugin_api::abi::{PROCTOR_LIST_COUNT_MAX, PROCTOR_NAME_LENGTH_MAX};

    use super::*;

    fn good() -> Manifest {
        Manifest::new("good", "1", "A good one.")
            .vendor("Maker \u{c9}", "MIT")
            .model(ModelSupport::new("*", "*"))
            .option(OptionSpec::choice("mode", &["fast", "exact"], "How."))
            .option(OptionSpec::float("share", 0.5, 0.0..=1.0, "Share."))
    }

    /// The error of a good manifest with a change.
    fn error_of(change: impl FnOnce(&mut Manifest)) -> String {
        let mut manifest = good();
        change(&mut manifest);
        check_manifest(Reader { source_name: "p" }, &manifest).unwrap_err().to_string()
    }

    type Text = fn(&mut Manifest) -> &mut String;

    /// Each text of a manifest by its name in errors.
    const TEXTS: [(&str, Text); 12] = [
        ("manifest.name", |it| &mut it.name),
        ("manifest.vendor", |it| &mut it.vendor),
        ("manifest.version", |it| &mut it.version),
        ("manifest.license", |it| &mut it.license),
        ("manifest.description", |it| &mut it.description),
        ("models[0].model", |it| &mut it.models[0].model),
        ("models[0].format", |it| &mut it.models[0].format),
        ("models[0].precision", |it| &mut it.models[0].precision),
        ("models[0].device", |it| &mut it.models[0].device),
        ("options[0].name", |it| &mut it.options[0].name),
        ("options[1].help", |it| &mut it.options[1].help),
        ("options[1].default_value", |it| it.options[1].default.as_mut().unwrap()),
    ];

    #[test]
    fn a_good_manifest_passes() {
        check_manifest(Reader { source_name: "p" }, &good()).unwrap();
    }

    #[test]
    fn no_text_steers_a_terminal_or_is_too_long() {
        for (what, text) in TEXTS {
            for steering in [
                "\n",
                "\u{1b}[2J",
                "\u{85}",
                "\u{61c}",
                "\u{200f}",
                "\u{202e}",
                "\u{2066}",
                "\u{2028}",
                "\u{2029}",
            ] {
                let error = error_of(|manifest| text(manifest).push_str(steering));
                assert!(error.starts_with(&format!("p: {what} has the control character")), "{error}");
            }
            let error = error_of(|manifest| *text(manifest) = "x".repeat(PROCTOR_TEXT_LENGTH_MAX + 1));
            assert!(error.starts_with(&format!("p: {what} is 1048577 bytes long")), "{error}");
        }
        let words = |manifest: &mut Manifest, word: &str| {
            manifest.options[0] = OptionSpec::choice("mode", &["fast", word], "");
        };
        let error = error_of(|manifest| words(manifest, "a\u{2028}b"));
        assert!(error.starts_with("p: choices of option \"mode\" has the control character"), "{error}");
        let error = error_of(|manifest| words(manifest, &"x".repeat(PROCTOR_NAME_LENGTH_MAX + 1)));
        assert!(error.contains("129 bytes long, more than the 128 of a name"), "{error}");
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        type Change = fn(&mut Manifest);
        let changes: [(&str, Change); 15] = [
            ("the name \"../../victim\" has more than lower-case letters", |it| {
                it.name = "../../victim".into()
            }),
            ("the name \"/home\" has more than lower-case letters", |it| it.name = "/home".into()),
            ("manifest.name is empty", |it| it.name.clear()),
            ("manifest.version is empty", |it| it.version.clear()),
            ("EXECUTE and ISSUE, a plugin has to have one", |it| it.execute = false),
            ("CONCURRENT_ISSUE is there without ISSUE", |it| it.concurrent_issue = true),
            ("VIRTUAL_TIME is there without EXECUTE", |it| {
                (it.execute, it.issue, it.virtual_time) = (false, true, true);
            }),
            ("it declares no models", |it| it.models.clear()),
            ("65537 manifest.models are more than 65536", |it| {
                it.models = vec![ModelSupport::new("*", "*"); PROCTOR_LIST_COUNT_MAX + 1];
            }),
            ("models[0] has no scenario", |it| it.models[0].scenarios.clear()),
            ("models[0].model \"a*b\" has a * before its end", |it| it.models[0].model = "a*b".into()),
            ("option \"mode\" is declared twice", |it| it.options[1].name = "mode".into()),
            ("is a choice without words", |it| it.options[0].kind = OptionKind::Choice(Vec::new())),
            ("has a range whose smallest value is above the largest", |it| {
                it.options[1].kind = OptionKind::Float(0.0..=f64::NAN);
            }),
            ("option \"share\" has a default that it does not take", |it| {
                it.options[1].default = Some("2".into());
            }),
        ];
        for (expected, change) in changes {
            let error = error_of(change);
            assert!(error.contains(expected), "{error}");
        }
        let error = error_of(|manifest| {
            let help = "x".repeat(PROCTOR_TEXT_LENGTH_MAX / 2 + 1);
            manifest.options.iter_mut().for_each(|option| option.help.clone_from(&help));
        });
        assert!(error.contains("its options have more than 1048576 bytes of text"), "{error}");
    }
}
