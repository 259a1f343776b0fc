//! `host run`, also several times: `--repeat`, and `--against` another plugin.

use std::ffi::OsString;

use clap::Args;
use proctor_bed::Interrupt;
use proctor_campaigns::{Repeat, RunEnd, repeat};
use proctor_config::Settings;
use proctor_display::Terminal;
use proctor_plugin_host::process;
use proctor_words::{Conclusion, HostError, UsageError};

use super::{
    engines,
    run::{RunCommand, this_program},
};

/// The flags of one run or of several.
#[derive(Debug, Args)]
pub(crate) struct RepeatFlags {
    #[command(flatten)]
    pub(super) run: RunCommand,
    /// Make this many runs, one after another, and report how they vary or differ
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["json", "trace_host"], value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: Option<u32>,
    /// Alternate with runs of this plugin, with the same settings and seeds, and compare the two; set its options by
    /// its name, as in --set mine.threads=4
    #[arg(long, value_name = "NAME|PATH", requires = "repeat")]
    against: Option<String>,
}

impl RepeatFlags {
    /// Returns whether the run is made in this process: each of several has its own.
    pub(super) fn loads_plugin(&self) -> bool {
        self.repeat.is_none()
    }

    /// Starts the run or the runs.
    pub(super) fn run(&self) -> Result<Conclusion, HostError> {
        match self.repeat {
            None if engines::are_wanted(&self.run) => engines::run(&self.run),
            None => self.run.run(),
            Some(count) => self.repeat(count),
        }
    }

    /// Returns the settings of each run.
    pub(crate) fn settings(&self) -> Result<Settings, HostError> {
        self.run.run.load()
    }

    /// Makes one run in a program that goes on.
    pub(crate) fn run_here(&self, interrupt: &Interrupt) -> Result<Conclusion, HostError> {
        match self.repeat {
            None => self.run.make(interrupt),
            Some(_) => {
                Err(UsageError::Stated("--repeat is for the command line: make the runs in turn").into())
            }
        }
    }

    fn repeat(&self, count: u32) -> Result<Conclusion, HostError> {
        let settings = self.run.run.load()?;
        let interrupt = Interrupt::install(Terminal::with_format(self.run.format()))?;
        let ended = repeat(&settings, count, self.against.as_deref(), &interrupt, |one| {
            this_program(self.arguments(one))
        });
        match ended? {
            RunEnd::Concluded(conclusion) => Ok(conclusion),
            RunEnd::Failed(code) => process::end(code),
        }
    }

    /// Returns the arguments of a run.
    fn arguments(&self, one: &Repeat<'_>) -> Vec<OsString> {
        let mut flags = self.run.run.clone();
        flags.settings = flags.settings.without("output_folder");
        if one.against.is_some() {
            flags.settings = flags.settings.without("plugin").with("plugin", one.against);
        }
        // Assignments come before all other flags.
        flags.keep_assignments(|key| match key.split_once('.') {
            Some((owner, _)) => one.foreign.as_deref() != Some(owner.trim()),
            None => key != "output_folder" && (key != "plugin" || one.against.is_none()),
        });
        self.run.arguments(&flags, &one.output)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{
        Cli,
        commands::{Command as HostCommand, run::RunFlags},
    };

    /// Returns a run of each side, of these plugins.
    fn sides(a: &str, b: &str) -> [Repeat<'static>; 2] {
        [
            Repeat { output: "both/a/repeat-1".into(), against: None, foreign: Some(b.to_owned()) },
            Repeat { output: "both/b/repeat-1".into(), against: Some("./b.so"), foreign: Some(a.to_owned()) },
        ]
    }

    fn flags(arguments: &[&str]) -> RepeatFlags {
        let cli = Cli::try_parse_from(["host", "run"].iter().chain(arguments)).unwrap();
        let HostCommand::Run(flags) = cli.command else { panic!("it is a run") };
        flags
    }

    #[test]
    fn a_repeat_has_the_flags_of_the_command_but_for_its_folder_and_its_plugin() {
        let flags = flags(&[
            "--plugin",
            "mock",
            "--scenario",
            "Server",
            "-o",
            "both",
            "--virtual-time",
            "--duration",
            "1500ms",
            "--seed",
            "7",
            "--set",
            "mock.service=fixed",
            "--set",
            "batch_size=2",
            "--config",
            "my.toml",
            "--repeat",
            "2",
            "--against",
            "./b.so",
        ]);
        let sides = sides("mock", "other");
        let words = |number: usize| {
            let words = flags.arguments(&sides[number]);
            words.into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>()
        };
        let again = |number: usize| {
            let cli = Cli::try_parse_from(std::iter::once("host".to_owned()).chain(words(number)));
            let HostCommand::Run(again) = cli.unwrap().command else { panic!("it is a run") };
            assert_eq!((again.repeat, again.against), (None, None));
            again.run.run
        };
        assert!(words(0).contains(&"--plugin=mock".to_owned()), "{:?}", words(0));
        assert!(words(1).contains(&"--plugin=./b.so".to_owned()), "{:?}", words(1));
        // An option of a plugin is for the side of this plugin.
        assert!(words(0).contains(&"--set=mock.service=fixed".to_owned()), "{:?}", words(0));
        assert!(!words(1).iter().any(|word| word.contains("mock.service")), "{:?}", words(1));
        let loaded = |flags: &RunFlags| {
            let without_file = RunFlags { config: None, ..flags.clone() };
            without_file.apply(proctor_config::Loader::new()).load().unwrap()
        };
        let (given, repeated) = (loaded(&flags.run.run), loaded(&again(0)));
        for (key, effective) in &given.effective {
            if key != "output_folder" {
                assert_eq!(effective.value, repeated.effective[key].value, "{key}");
            }
        }
        assert_eq!(repeated.run.output_folder, Some("both/a/repeat-1".into()));
        assert_eq!(again(1).config, Some("my.toml".into()));
    }

    #[test]
    fn plugin_and_folder_of_a_repeat_are_those_of_its_side_wherever_they_were_set() {
        let given = ["--set", "plugin = null", "--set=output_folder=mine", "--set", "batch_size=2"];
        let flags =
            flags(&[&given[..], &["--plugin", "mock", "--repeat", "1", "--against", "./b.so"]].concat());
        let [a, b] = sides("null", "other").map(|one| {
            let words = flags.arguments(&one);
            let cli = Cli::try_parse_from(std::iter::once("host".into()).chain(words)).unwrap();
            let HostCommand::Run(again) = cli.command else { panic!("it is a run") };
            again.run.run.apply(proctor_config::Loader::new()).load().unwrap().run
        });
        assert_eq!([a.plugin.as_str(), b.plugin.as_str()], ["null", "./b.so"]);
        assert_eq!(a.output_folder, Some("both/a/repeat-1".into()));
        assert_eq!(b.output_folder, Some("both/b/repeat-1".into()));
    }
}
