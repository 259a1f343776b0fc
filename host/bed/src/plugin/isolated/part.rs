//! Describes the process of a plugin in a result: its restrictions, and an objection if the answers were not protected.

use proctor_isolated::protocol::{Fence, Restrictions};
use proctor_results::IsolationPart;

use crate::plugin::isolated::fence::Exposure;

/// The first version of Linux that keeps a process from files.
const FENCED_SINCE: &str = "5.13";

/// Keys that only the process itself can report, which it does before it loads any code of the plugin.
const WORD_OF_PROCESS: [&str; 4] = ["landlock_abi", "files", "host_memory", "other_processes"];

/// Describes the plugin's process for the result: which files it may use, and which restrictions apply to
/// it.
pub(super) fn isolation_part(
    restrictions: Restrictions,
    fence: &Fence,
    exposure: Option<Exposure>,
) -> IsolationPart {
    let is_fenced = restrictions.landlock_abi > 0;
    let objection = if is_fenced { exposure.map(|exposure| exposure.to_string()) } else { Some(unfenced()) };
    let out_of_reach = |is_out: bool| if is_out { "out of reach" } else { "open" }.to_owned();
    IsolationPart {
        mode: "process".to_owned(),
        landlock_abi: restrictions.landlock_abi,
        files: if restrictions.files { "restricted" } else { "open" }.to_owned(),
        data_readable: objection.is_some(),
        objection,
        host_memory: out_of_reach(is_fenced),
        other_processes: out_of_reach(restrictions.signals),
        host_limits: if restrictions.asks { "out of reach" } else { "compared" }.to_owned(),
        calls: if restrictions.calls { "filtered" } else { "open" }.to_owned(),
        capabilities: if restrictions.capabilities { "none" } else { "kept" }.to_owned(),
        network: match (fence.network, restrictions.network) {
            (true, _) => "allowed",
            (false, true) => "denied",
            (false, false) => "open",
        }
        .to_owned(),
        word_of_process: WORD_OF_PROCESS.map(str::to_owned).into(),
    }
}

/// Explains why a run does not count if the system protects no file from the plugin.
fn unfenced() -> String {
    format!(
        "the plugin could read the answers, as this system keeps its process from no file: take one with landlock, \
         which Linux has since {FENCED_SINCE}, or leave out --isolate"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_from_it_is_said_and_what_is_not() {
        let part = |restrictions, network| {
            let fence = Fence { network, ..Fence::default() };
            serde_json::to_value(isolation_part(restrictions, &fence, None)).unwrap()
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
        let objection =
            |restrictions, exposure| isolation_part(restrictions, &Fence::default(), exposure).objection;
        assert_eq!(objection(Restrictions::ALL, None), None);
        let unfenced = objection(Restrictions::default(), None).unwrap();
        assert!(unfenced.contains("this system keeps its process from no file"), "{unfenced}");
        let exposure = Exposure { folder: "/data/imagenet".into(), given: "/data".into() };
        let given = objection(Restrictions::ALL, Some(exposure)).unwrap();
        assert!(given.contains("/data/imagenet") && given.contains("may read /data:"), "{given}");
    }
}
