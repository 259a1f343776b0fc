//! Options: the defaults, and values of each kind up to their limits.

use std::collections::BTreeMap;

use proctor_plugin_api::{OptionKind, OptionSpec, Options};
use proctor_plugin_host::{LoadedPlugin, PluginHostError};

use crate::{
    case::Case,
    subject::{Subject, close},
    verdict::{Verdict, ensure, failed, skipped},
};

const NEEDS: &str = "options/defaults-open";
const RULE: &str =
    "open is given values within what the manifest allows, and opens or returns a status and the reason";
const FIX: &str = "check what the manifest cannot say in open, and return INVALID_ARGUMENT with the option's name; narrow \
                   the range in the manifest";

pub(super) const CASES: &[Case] = &[
    Case {
        name: "options/defaults-open",
        about: "the plugin opens with the options given, and the defaults of the others",
        rule: "open writes a backend that is not null, or says with a status and a message why not",
        fix: "give each option a default with which the plugin opens; leave an option out that the user must give, and say so",
        needs: "manifest/is-sound",
        run: defaults_open,
    },
    Case {
        name: "options/booleans",
        about: "each option that is true or false is given both ways",
        rule: RULE,
        fix: FIX,
        needs: NEEDS,
        run: booleans,
    },
    Case {
        name: "options/integers",
        about: "each integer is given the ends of its range; without one, the least and the greatest there are",
        rule: RULE,
        fix: FIX,
        needs: NEEDS,
        run: integers,
    },
    Case {
        name: "options/floats",
        about: "each float is given the ends of its range; without one, the least and the greatest there are",
        rule: RULE,
        fix: FIX,
        needs: NEEDS,
        run: floats,
    },
    Case {
        name: "options/choices",
        about: "each word of each choice is given",
        rule: RULE,
        fix: FIX,
        needs: NEEDS,
        run: choices,
    },
    Case {
        name: "options/texts",
        about: "each text is empty, long, and not ASCII",
        rule: RULE,
        fix: FIX,
        needs: NEEDS,
        run: texts,
    },
    Case {
        name: "options/paths",
        about: "each path leads nowhere, and to a folder",
        rule: RULE,
        fix: FIX,
        needs: NEEDS,
        run: paths,
    },
    Case {
        name: "options/out-of-range",
        about: "a value beyond what the manifest allows does not reach the plugin, and the limits are ones that it names",
        rule: "the value of an option is checked by the host against its ProctorOptionSpec",
        fix: "give the range that the plugin takes: a number without one can be any",
        needs: NEEDS,
        run: out_of_range,
    },
];

fn defaults_open(subject: &Subject) -> Verdict {
    let library = subject.load()?;
    close(subject.open(&library)?)
}

fn booleans(subject: &Subject) -> Verdict {
    each(subject, |spec| match spec.kind {
        OptionKind::Boolean => vec!["true".to_owned(), "false".to_owned()],
        _ => Vec::new(),
    })
}

fn integers(subject: &Subject) -> Verdict {
    each(subject, |spec| match &spec.kind {
        OptionKind::Integer(range) => vec![range.start().to_string(), range.end().to_string()],
        _ => Vec::new(),
    })
}

fn floats(subject: &Subject) -> Verdict {
    each(subject, |spec| match &spec.kind {
        OptionKind::Float(range) => vec![range.start().to_string(), range.end().to_string()],
        _ => Vec::new(),
    })
}

fn choices(subject: &Subject) -> Verdict {
    each(subject, |spec| match &spec.kind {
        OptionKind::Choice(words) => words.clone(),
        _ => Vec::new(),
    })
}

fn texts(subject: &Subject) -> Verdict {
    each(subject, |spec| match spec.kind {
        OptionKind::Text => vec![String::new(), "x".repeat(4096), "h\u{e9}\u{4e2d}\u{1f600}".to_owned()],
        _ => Vec::new(),
    })
}

fn paths(subject: &Subject) -> Verdict {
    let folder = subject.temporary_folder().display().to_string();
    each(subject, |spec| match spec.kind {
        OptionKind::Path => vec!["/no/such/file".to_owned(), folder.clone()],
        _ => Vec::new(),
    })
}

/// Opens the plugin with each of the values of each option, the others as they are, and closes it.
fn each(subject: &Subject, values: impl Fn(&OptionSpec) -> Vec<String>) -> Verdict {
    let library = subject.load()?;
    let mut count = 0;
    for spec in &library.manifest().options {
        for value in values(spec) {
            count += 1;
            match open_with(subject, &library, &spec.name, &value)? {
                Ok(backend) => close(backend)?,
                Err(error) => {
                    has_reason(&error).map_err(|ended| ended.at(&format!("{}={value}", spec.name)))?
                }
            }
        }
    }
    if count == 0 {
        return skipped("the manifest declares no option of this kind");
    }
    // A refused option must leave nothing behind.
    close(subject.open(&library)?)
}

type Opened = Result<proctor_plugin_host::Backend, PluginHostError>;

fn open_with(subject: &Subject, library: &LoadedPlugin, name: &str, value: &str) -> Verdict<Opened> {
    let options = subject.options(library)?;
    let mut given: BTreeMap<String, String> =
        options.iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect();
    given.insert(name.to_owned(), value.to_owned());
    let options: Options = library.options(&given)?;
    Ok(library.open(&options, subject.services(library)))
}

/// Fails unless a refusal has a status and a reason.
fn has_reason(error: &PluginHostError) -> Verdict {
    match error {
        PluginHostError::CallFailed { message, .. } => {
            ensure(!message.is_empty(), || "it is refused without a message".to_owned())
        }
        error => failed(error),
    }
}

fn out_of_range(subject: &Subject) -> Verdict {
    let library = subject.load()?;
    let mut count = 0;
    for spec in &library.manifest().options {
        let beyond: Vec<String> = match &spec.kind {
            OptionKind::Boolean => vec!["yes".to_owned()],
            OptionKind::Integer(range) => {
                let ends = [range.start().checked_sub(1), range.end().checked_add(1)];
                ends.into_iter().flatten().map(|value| value.to_string()).collect()
            }
            OptionKind::Float(range) => {
                let wider =
                    [range.start() - range.start().abs() - 1.0, range.end() + range.end().abs() + 1.0];
                let wider = wider.into_iter().chain([f64::NAN, f64::INFINITY]);
                wider.map(|value| value.to_string()).collect()
            }
            OptionKind::Choice(_) => vec!["no such word".to_owned()],
            OptionKind::Text | OptionKind::Path => Vec::new(),
        };
        for value in beyond {
            count += 1;
            let given = BTreeMap::from([(spec.name.clone(), value.clone())]);
            let is_refused = library.options(&given).is_err();
            ensure(is_refused, || format!("{}={value} is within the range of the manifest", spec.name))?;
        }
    }
    if count == 0 { skipped("the manifest declares no option with a range") } else { Ok(()) }
}
