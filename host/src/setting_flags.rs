//! Flags that are names for settings, from the table in `proctor-config`.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use proctor_config::{Flag, Key, Kind, Loader, keys};

/// The settings that were given by their own flags.
#[derive(Debug, Clone, Default)]
pub(crate) struct SettingFlags {
    given: Vec<GivenFlag>,
}

/// A flag as given.
#[derive(Debug, Clone)]
struct GivenFlag {
    flag: Flag,
    setting: &'static str,
    value: String,
}

/// Returns the settings that have a flag.
fn flagged() -> impl Iterator<Item = (&'static Key, Flag)> {
    keys().iter().filter_map(|key| Some((key, key.flag?)))
}

impl SettingFlags {
    /// Gives the flag of a setting, if there is a value for it.
    ///
    /// # Panics
    /// If the setting has no flag.
    #[must_use]
    pub(crate) fn with(mut self, setting: &str, value: Option<&str>) -> Self {
        let (key, flag) = flagged().find(|(key, _)| key.name == setting).expect("the setting has a flag");
        let given = value.map(|value| GivenFlag { flag, setting: key.name, value: value.to_owned() });
        self.given.extend(given);
        self
    }

    /// Returns whether the flag of a setting was given.
    pub(crate) fn gives(&self, setting: &str) -> bool {
        self.given.iter().any(|given| given.setting == setting)
    }

    /// Returns the same without the flag of a setting.
    #[must_use]
    pub(crate) fn without(mut self, setting: &str) -> Self {
        self.given.retain(|given| given.setting != setting);
        self
    }

    /// Returns the arguments that give the same flags again.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let argument = |given: &GivenFlag| {
            let is_switch = flagged().any(|(key, _)| key.name == given.setting && key.kind == Kind::Bool);
            let long = format!("--{}", given.flag.long);
            // Joined, as a value may begin with a hyphen.
            if is_switch { long } else { format!("{long}={}", given.value) }
        };
        self.given.iter().map(argument).collect()
    }

    /// Hands the settings to a loader.
    pub(crate) fn apply(&self, loader: Loader) -> Loader {
        let flag = |loader: Loader, given: &GivenFlag| {
            loader.flag(format!("--{}", given.flag.long), given.setting, &given.value)
        };
        self.given.iter().fold(loader, flag)
    }
}

impl Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        flagged().fold(command, |command, (key, flag)| {
            let mut arg = Arg::new(key.name).long(flag.long).short(flag.short).help(key.flag_help());
            if key.kind == Kind::Bool {
                arg = arg.action(ArgAction::SetTrue);
            } else if !flag.value_name.is_empty() {
                arg = arg.value_name(flag.value_name);
            }
            command.arg(arg)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = flagged().filter_map(|(key, flag)| {
            let value = match key.kind {
                Kind::Bool => matches.get_flag(key.name).then(|| "true".to_owned()),
                _ => matches.get_one::<String>(key.name).cloned(),
            };
            Some(GivenFlag { flag, setting: key.name, value: value? })
        });
        Ok(Self { given: given.collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_has_the_meaning_the_names_and_the_default_of_a_setting() {
        let help = SettingFlags::augment_args(Command::new("run")).render_help().to_string();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in [
            "--plugin <NAME|PATH> Name of the plugin, or path to its library [default: cpu-rnn]",
            "SingleStream, MultiStream, Server, Offline, Interactive [default: SingleStream]",
            "--suite <SUITE> Suite of the round to run for; its scenarios and targets apply: datacenter, edge [default: all \
             suites of the round]",
            "-o, --output <FOLDER> Folder for the results [default: a new one in runs/]",
            "--strict Refuse to run if there is a warning about settings",
        ] {
            assert!(help.contains(expected), "{expected}: {help}");
        }
    }
}
