//! The library, and the table that it exports.

use proctor_plugin_host::{LoadStep, LoadedPlugin};

use crate::{
    case::Case,
    subject::Subject,
    verdict::{Verdict, ensure, failed, skipped},
};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "load/library-opens",
        about: "the file is a shared library that loads here and exports the entry",
        rule: "a plugin is a shared library that exports one function, proctor_plugin_entry; its constructors return",
        fix: "link with -shared -fPIC, export proctor_plugin_entry with default visibility, ship or link statically what it \
              needs, and leave work out of constructors",
        needs: "",
        run: library_opens,
    },
    Case {
        name: "load/entry-answers",
        about: "the entry returns a table of a version that this host speaks",
        rule: "the entry returns a table of one of the major versions in `speaks`, or null and the reason in `refusal`",
        fix: "return a static ProctorPlugin with size, abi_major and abi_minor filled in",
        needs: "load/library-opens",
        run: entry_answers,
    },
    Case {
        name: "load/functions-are-there",
        about: "every function of the table that is required is there",
        rule: "every function is required unless it says optional; those of instances with PROCTOR_CAPABILITY_EXECUTE",
        fix: "fill in the function that is named",
        needs: "load/entry-answers",
        run: functions_are_there,
    },
    Case {
        name: "load/again-and-again",
        about: "the library is loaded 20 times, and says the same of itself each time",
        rule: "describe and extension may be called at any time and as often as the host likes, always with the same answer",
        fix: "return the same static table and manifest from every call",
        needs: "load/functions-are-there",
        run: again_and_again,
    },
];

/// Loads the plugin, and judges one of the steps.
pub(super) fn step(subject: &Subject, judged: LoadStep) -> Verdict {
    let mut last = LoadStep::Library;
    let mut heard = Vec::new();
    let loaded = LoadedPlugin::load_in_steps(&subject.location, |step| {
        last = step;
        heard.push(step);
    });
    match loaded {
        Ok(_) => Ok(()),
        Err(error) if last == judged => failed(error),
        Err(_) if heard.contains(&judged) => Ok(()),
        Err(error) => skipped(format!("loading does not come so far: {error}")),
    }
}

fn library_opens(subject: &Subject) -> Verdict {
    step(subject, LoadStep::Library)
}

fn entry_answers(subject: &Subject) -> Verdict {
    step(subject, LoadStep::Entry)
}

fn functions_are_there(subject: &Subject) -> Verdict {
    step(subject, LoadStep::Functions)
}

fn again_and_again(subject: &Subject) -> Verdict {
    let Ok(first) = LoadedPlugin::load(&subject.location) else { return skipped("the plugin does not load") };
    for time in 2..=20 {
        let again = subject.load_again()?;
        ensure(again.manifest() == first.manifest(), || {
            format!("the manifest is another one when it is read for time number {time}")
        })?;
    }
    Ok(())
}
