//! Attempts that isolation does not stop: exactly the ones in the table of limits in `docs/isolation.md`.

use std::{collections::BTreeSet, fs};

use proctor_tests::workspace;

use super::world::User;

/// A limit of isolation.
struct Limit {
    /// The first cell of its row.
    can: &'static str,
    /// Attempts that may succeed for it.
    attempts: &'static [&'static str],
    /// Whether they succeed as root alone.
    is_of_root: bool,
}

/// A limit for which these attempts succeed.
const fn tried(can: &'static str, attempts: &'static [&'static str]) -> Limit {
    Limit { can, attempts, is_of_root: false }
}

/// A limit without an attempt: it concerns older systems, settings of the user, or harm to the machine that runs the
/// tests.
const fn untried(can: &'static str) -> Limit {
    Limit { can, attempts: &[], is_of_root: false }
}

const LIMITS: [Limit; 14] = [
    tried("see that a file exists, its size and its times, also where it may not read", &["look-at-file"]),
    tried("hear that a file is read or changed, also where it may not read", &["watch-file"]),
    tried("make any folder its working folder", &["enter-folder"]),
    tried(
        "see the names, command lines, states and use of memory of other processes",
        &["command-line-of-host", "list-processes", "status-of-host"],
    ),
    tried("see how many files another process of the user has open, and not which", &["list-files-of-host"]),
    Limit {
        can: "read what a user may in `/etc`, `/usr`, `/opt` and the like",
        attempts: &["read-passwords"],
        is_of_root: true,
    },
    tried("list the names in its library's folder and the folders below", &["list-by-library"]),
    untried(
        "change limits and priority of the host before Linux 5.5, or within a sandbox that asks somebody itself",
    ),
    untried("name a socket of another program and connect to it with `isolate_network=true`"),
    untried("signal other processes of the user before Linux 6.12"),
    untried("take processors, memory, processes, and room on the disk of its folder"),
    untried("give a driver work that disturbs other programs on the same GPU"),
    untried("leave something in its own folder that a later run of it reads"),
    untried(
        "stay for the time that a driver takes, or, of what it has started itself, when the host is ended by SIGKILL",
    ),
];

/// Whether an attempt may succeed.
pub(super) fn stands(name: &str, user: User) -> bool {
    LIMITS.iter().any(|limit| limit.attempts.contains(&name) && (!limit.is_of_root || user.is_root()))
}

/// Names of the attempts that may succeed.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    LIMITS.iter().flat_map(|limit| limit.attempts).copied()
}

/// Head of the table.
const HEAD: &str = "| a plugin can | because |\n|---|---|\n";

#[test]
fn the_page_on_isolation_has_these_limits() {
    let page = fs::read_to_string(workspace().join("docs/isolation.md")).expect("the page is there");
    let table = page.split_once(HEAD).expect("it has the table").1;
    let rows = table.lines().take_while(|line| line.starts_with("| "));
    let named: BTreeSet<_> = rows.filter_map(|row| row.strip_prefix("| ")?.split(" | ").next()).collect();
    let expected: BTreeSet<_> = LIMITS.iter().map(|limit| limit.can).collect();
    assert_eq!(named, expected);
}
