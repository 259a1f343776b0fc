//! The two files that tell where a thing comes from: its source, and its licence.

use crate::catalogue::Thing;

/// Name of the file with the source and the sums.
pub(crate) const SOURCE: &str = "SOURCE.txt";

/// Name of the file with the licence, as the package has it.
pub(crate) const LICENCE: &str = "LICENCE.txt";

/// Returns the text of the file with the source: its last lines are for `sha256sum --check`.
pub(crate) fn source(thing: &Thing, has_licence: bool) -> String {
    let Thing { name, about, licence, packages, files, .. } = thing;
    let packages: String = packages
        .iter()
        .map(|package| format!("package  {} {} ({})\n", package.name, package.version, package.command()))
        .collect();
    let file = if has_licence { format!("; {LICENCE} is the file of the package") } else { String::new() };
    let sums: String = files.iter().map(|file| format!("{}  {}\n", file.sha256, file.name)).collect();
    format!(
        "{name}: {about}\nPlaced by `host data get {name}`.\n\n{packages}licence  {licence}{file}\n\n{sums}"
    )
}
