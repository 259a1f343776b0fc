//! The sections of docs/real-models.md, which are written from the definitions, the table of packages and
//! `host/config/real-models.toml`: with `PROCTOR_WRITE_SUITES` set.

use std::{collections::BTreeMap, env, fmt::Write, fs, path::Path};

use proctor_config::{Benchmark, benchmarks};
use proctor_packages::{Package, THINGS, Thing, thing};
use serde::Deserialize;

use crate::proofs::{KeptProof, four_decimals, kept_proofs};

const BEGIN: &str =
    "<!-- The sections from here on are written from the definitions, see CONTRIBUTING.md. -->\n";
const END: &str = "<!-- The end of these sections. -->\n";

/// Cells that a person enters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entered {
    plugin: String,
    source: String,
    measured: String,
}

#[test]
fn the_sections_of_the_page_are_those_of_the_definitions() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/real-models.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has the first mark");
    let (kept, after) = rest.split_once(END).expect("the page has the second mark");
    let sections = sections();
    if env::var_os("PROCTOR_WRITE_SUITES").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{sections}{END}{after}")).unwrap();
        return;
    }
    assert!(
        kept == sections,
        "docs/real-models.md is stale: write it anew by PROCTOR_WRITE_SUITES=1 cargo nextest run -p proctor-config \
         --test suite real_models::"
    );
}

/// Returns the benchmarks that `host data get` fetches something for, each with it, in the order of the packages'
/// table.
fn real_models() -> impl Iterator<Item = (&'static Benchmark, &'static Thing)> {
    let benchmark = |thing: &'static Thing| benchmarks().find(|benchmark| benchmark.id == thing.name);
    THINGS.iter().copied().filter_map(move |thing| Some((benchmark(thing)?, thing)))
}

fn sections() -> String {
    let entered = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("real-models.toml")).unwrap();
    let mut entered: BTreeMap<String, Entered> = toml::from_str(&entered).unwrap();
    let proofs = kept_proofs();
    let mut page = String::new();
    for (benchmark, thing) in real_models() {
        let entered = entered.remove(&benchmark.id);
        let entered = entered.unwrap_or_else(|| panic!("real-models.toml has no table [{}]", benchmark.id));
        section(&mut page, benchmark, thing, &entered, proofs.get(benchmark.id.as_str()));
    }
    // A table may be there before its benchmark is; it has to be of something that can be had.
    entered.keys().for_each(|name| _ = thing(name).unwrap());
    page.push('\n');
    page
}

fn section(
    page: &mut String,
    benchmark: &Benchmark,
    of: &'static Thing,
    entered: &Entered,
    proof: Option<&KeptProof>,
) {
    let things: Vec<_> = std::iter::once(of).chain(of.with.iter().map(|name| thing(name).unwrap())).collect();
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let fetched = megabytes(things.iter().map(|thing| thing.package_bytes()).sum());
    let placed = megabytes(things.iter().flat_map(|thing| thing.files).map(|file| file.bytes).sum());
    let packages = things.iter().flat_map(|thing| thing.packages).map(|it| package(it));
    let licences = things.iter().map(|thing| format!("`{}`: {}", thing.name, thing.licence));
    let (id, quality) = (&benchmark.id, &benchmark.quality);
    let mut measured: Vec<_> =
        proof.iter().map(|it| format!("{}, {} ({})", it.measured, it.by, it.standing())).collect();
    measured.extend(Some(entered.measured.clone()).filter(|text| !text.is_empty()));
    if measured.is_empty() {
        measured.push("not yet".to_owned());
    }
    let rows = [
        ("packages", packages.collect::<Vec<_>>().join(", ")),
        ("size", format!("{fetched} to fetch, {placed} on the disk")),
        ("licence", licences.collect::<Vec<_>>().join("; ")),
        ("data set", format!("`{}`, up to {} samples", benchmark.dataset, benchmark.qsl.total_sample_count)),
        (
            "expected",
            format!(
                "{} {}, of which {} passes",
                quality.metric,
                four_decimals(quality.reference),
                four_decimals(quality.target())
            ),
        ),
        ("source of it", entered.source.clone()),
        ("measured", measured.join("; ")),
    ];
    let rows = rows.map(|(name, cell)| format!("| {name} | {cell} |\n")).concat();
    write!(
        page,
        "\n## {id}\n\n{}\n\n```sh\nhost data get {id}\nhost run --plugin {} --benchmark {id}\n```\n\n\
         | | |\n|---|---|\n{rows}",
        benchmark.description, entered.plugin,
    )
    .unwrap();
}

fn package(Package { client, name, version, .. }: &Package) -> String {
    format!("{} `{name}` {version}", client.name())
}
