//! The process of a plugin in a result: what was kept from it, and an objection where the answers were not.

use proctor_isolated::protocol::{Fence, Restrictions};
use serde::Serialize;

use crate::bed::plugin::isolated::fence::Exposure;

/// The first version of Linux that keeps a process from files.
const FENCED_SINCE: &str = "5.13";

/// The keys that nobody but the process could say, which it did before it had any code of the plugin.
const WORD_OF_PROCESS: [&str; 4] = ["landlock_abi", "files", "host_memory", "other_processes"];

/// The process of the plugin, as a result has it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct IsolationPart {
    /// How the plugin is apart from the host: `process`.
    mode: &'static str,
    /// Version of landlock that holds; 0 for none.
    landlock_abi: u32,
    /// `restricted` to those that it was given, or `open`.
    files: &'static str,
    /// True if data sets or results are among the files that it was given, or nothing restricts it.
    data_readable: bool,
    /// Which of them; none if it could read none.
    #[serde(skip)]
    reach: Option<Reach>,
    /// `out of reach` or `open`.
    host_memory: &'static str,
    /// `out of reach` of its signals, or `open`.
    other_processes: &'static str,
    /// Limits, priority, scheduler and processors of the host: `out of reach`, or `compared` after each test.
    host_limits: &'static str,
    /// `filtered` or `open`.
    calls: &'static str,
    /// `none`, or `kept` as the user has them.
    capabilities: &'static str,
    /// `denied`; `allowed` if the settings say so; or `open`.
    network: &'static str,
    /// Keys of the above that are the process's own word, from before it had any code of the plugin.
    word_of_process: [&'static str; 4],
}

/// Why the plugin could read answers or results.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reach {
    /// The system keeps it from no file.
    Unfenced,
    /// It was given something that they lie in.
    Given(Exposure),
}

impl IsolationPart {
    /// A process that may use what is in the fence, and for which these restrictions hold.
    pub(super) fn new(restrictions: Restrictions, fence: &Fence, exposure: Option<Exposure>) -> Self {
        let is_fenced = restrictions.landlock_abi > 0;
        let reach = if is_fenced { exposure.map(Reach::Given) } else { Some(Reach::Unfenced) };
        let out_of_reach = |is_out: bool| if is_out { "out of reach" } else { "open" };
        Self {
            mode: "process",
            landlock_abi: restrictions.landlock_abi,
            files: if restrictions.files { "restricted" } else { "open" },
            data_readable: reach.is_some(),
            reach,
            host_memory: out_of_reach(is_fenced),
            other_processes: out_of_reach(restrictions.signals),
            host_limits: if restrictions.asks { "out of reach" } else { "compared" },
            calls: if restrictions.calls { "filtered" } else { "open" },
            capabilities: if restrictions.capabilities { "none" } else { "kept" },
            network: match (fence.network, restrictions.network) {
                (true, _) => "allowed",
                (false, true) => "denied",
                (false, false) => "open",
            },
            word_of_process: WORD_OF_PROCESS,
        }
    }

    /// Why the run does not count, if the plugin could read the answers.
    pub(crate) fn objection(&self) -> Option<String> {
        Some(match self.reach.as_ref()? {
            Reach::Unfenced => format!(
                "the plugin could read the answers, as this system keeps its process from no file: take one with landlock, \
                 which Linux has since {FENCED_SINCE}, or leave out --isolate"
            ),
            Reach::Given(exposure) => exposure.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_from_it_is_said_and_what_is_not() {
        let part = |restrictions, network| {
            let fence = Fence { network, ..Fence::default() };
            serde_json::to_value(IsolationPart::new(restrictions, &fence, None)).unwrap()
        };
        let kept = part(Restrictions::ALL, false);
        for (key, kept_value, open_value) in [
            ("files", "restricted", "open"),
            ("host_memory", "out of reach", "open"),
            ("other_processes", "out of reach", "open"),
            ("host_limits", "out of reach", "compared"),
            ("calls", "filtered", "open"),
            ("capabilities", "none", "kept"),
            ("network", "denied", "open"),
        ] {
            assert_eq!(kept[key], kept_value, "{kept}");
            assert_eq!(part(Restrictions::default(), false)[key], open_value, "{key}");
        }
        assert_eq!(part(Restrictions { network: false, ..Restrictions::ALL }, true)["network"], "allowed");
        assert_eq!(
            (&kept["data_readable"], &part(Restrictions::default(), false)["data_readable"]),
            (&false.into(), &true.into())
        );
    }

    #[test]
    fn a_run_whose_plugin_could_read_the_answers_does_not_count() {
        let part = |restrictions, exposure| IsolationPart::new(restrictions, &Fence::default(), exposure);
        assert_eq!(part(Restrictions::ALL, None).objection(), None);
        let unfenced = part(Restrictions::default(), None).objection().unwrap();
        assert!(unfenced.contains("this system keeps its process from no file"), "{unfenced}");
        let exposure = Exposure { folder: "/data/imagenet".into(), given: "/data".into() };
        let given = part(Restrictions::ALL, Some(exposure)).objection().unwrap();
        assert!(given.contains("/data/imagenet") && given.contains("may read /data:"), "{given}");
    }
}
