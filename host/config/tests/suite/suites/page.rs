//! The tables of docs/benchmarks.md, which are written from the files of the suites: with `PROCTOR_WRITE_SUITES` set.

use std::{collections::BTreeMap, env, fmt::Write, fs, path::Path};

use proctor_config::{RoundRow, RowCells, SuiteBenchmark, percent, round_rules, suite_benchmarks};
use proctor_loadgen::Rules;

use crate::proofs::{KeptProof, four_decimals, kept_proofs, provable};

const BEGIN: &str =
    "<!-- The tables from here on are written from host/config/suite, see CONTRIBUTING.md. -->\n";
const END: &str = "<!-- The end of these tables. -->\n";

type Row = (&'static SuiteBenchmark, &'static RoundRow);

#[test]
fn the_tables_of_the_page_are_those_of_the_files() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/benchmarks.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has the first mark");
    let (kept, after) = rest.split_once(END).expect("the page has the second mark");
    let tables = tables();
    if env::var_os("PROCTOR_WRITE_SUITES").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{tables}{END}{after}")).unwrap();
        return;
    }
    assert!(
        kept == tables,
        "docs/benchmarks.md is stale: write it anew by PROCTOR_WRITE_SUITES=1 cargo nextest run -p proctor-config \
         --test suite suites::"
    );
}

fn tables() -> String {
    let mut page = String::new();
    proven(&mut page);
    exercised(&mut page);
    for rules in Rules::all() {
        let round = round_rules(rules);
        let rows: Vec<_> = suite_benchmarks().filter_map(|it| Some((it, it.row(rules)?))).collect();
        if round.suites.is_empty() {
            of_round(&mut page, rules.name, None, &rows);
        }
        for suite in &round.suites {
            of_round(&mut page, rules.name, Some(suite), &rows);
        }
        let of_all = round.shown().into_iter().map(|(name, words)| vec![name.to_owned(), words]);
        section(
            &mut page,
            &format!("{}, all benchmarks", rules.name),
            &["rule", ""],
            &of_all.collect::<Vec<_>>(),
        );
        inference(&mut page, rules.name, &rows);
        bandwidth(&mut page, rules.name, &rows);
        checker(&mut page, rules, &rows);
    }
    page.push('\n');
    page
}

fn section(page: &mut String, title: &str, head: &[&str], rows: &[Vec<String>]) {
    if rows.is_empty() {
        return;
    }
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let head: Vec<_> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let rule = format!("|{}", "---|".repeat(head.len()));
    writeln!(page, "\n### {title}\n\n{}\n{rule}", line(&head)).unwrap();
    rows.iter().for_each(|row| writeln!(page, "{}", line(row)).unwrap());
}

/// Says of each benchmark of a trained model whether it was proven on real data.
fn proven(page: &mut String) {
    let proofs = kept_proofs();
    let rows = provable().map(|benchmark| {
        let proof = proofs.get(benchmark.id.as_str());
        let cells = proof.map_or_else(
            || ["not yet".to_owned(), "-".to_owned(), "-".to_owned()],
            |proof| [proof.standing(), proof.measured.clone(), proof.by.clone()],
        );
        let [standing, measured, by] = cells;
        let quality = &benchmark.quality;
        let expected = format!("{} {}", quality.metric, four_decimals(quality.reference));
        vec![format!("`{}`", benchmark.id), standing, measured, expected, by]
    });
    let head = ["benchmark", "on real data", "measured", "expected", "by"];
    section(page, "Proven benchmarks", &head, &rows.collect::<Vec<_>>());
}

fn exercised(page: &mut String) {
    let proofs = kept_proofs();
    let rows = suite_benchmarks().map(|benchmark| {
        let rounds: Vec<_> = benchmark.rounds.keys().map(String::as_str).collect();
        let weight = benchmark.weight.iter().map(|weight| format!(" ({weight})")).collect::<String>();
        vec![
            format!("`{}`", benchmark.id),
            benchmark.name.clone(),
            if benchmark.size().is_empty() { "-".to_owned() } else { benchmark.size() },
            format!("{}: {}{weight}", benchmark.area, benchmark.task),
            benchmark.sample.clone(),
            rounds.join(", "),
            benchmark.exercised.clone(),
            benchmark.needs.clone(),
            standing(benchmark),
            proven_by(benchmark, &proofs),
        ]
    });
    let head = [
        "suite",
        "model",
        "size",
        "task",
        "one sample",
        "rounds",
        "exercised by",
        "what you bring",
        "runs here",
        "on real data",
    ];
    section(page, "All benchmarks", &head, &rows.collect::<Vec<_>>());
}

fn standing(benchmark: &SuiteBenchmark) -> String {
    match benchmark.definitions().next() {
        Some(_) if benchmark.stub.is_none() => format!("`{}`", benchmark.availability()),
        _ => benchmark.availability(),
    }
}

/// Returns the proofs of the definitions of a benchmark, or that there is none.
fn proven_by(benchmark: &SuiteBenchmark, proofs: &BTreeMap<&str, KeptProof>) -> String {
    let standings: Vec<_> =
        benchmark.definitions().filter_map(|id| Some(proofs.get(id)?.standing())).collect();
    if standings.is_empty() { "not yet".to_owned() } else { standings.join(", ") }
}

fn of_round(page: &mut String, round: &str, suite: Option<&str>, rows: &[Row]) {
    let cells = rows.iter().filter_map(|(benchmark, row)| {
        let cells = RowCells::new(row, suite)?;
        let RowCells { dataset, samples, quality, constraints, required, optional } = cells;
        let quality = quality.join("; ");
        let constraints = if constraints.is_empty() { "-".to_owned() } else { constraints.join("; ") };
        let all = [format!("`{}`", benchmark.id), dataset, samples, quality, constraints, required, optional];
        // An asterisk of the rules is no emphasis.
        Some(all.map(|cell| cell.replace('*', "\\*")).to_vec())
    });
    let title = suite.map_or_else(|| round.to_owned(), |suite| format!("{round}, {suite}"));
    let head = ["suite", "data set", "QSL", "quality", "constraints", "required", "optional"];
    section(page, &title, &head, &cells.collect::<Vec<_>>());
}

fn inference(page: &mut String, round: &str, rows: &[Row]) {
    let cells = rows.iter().filter_map(|(benchmark, row)| {
        let named = row.inference.named();
        let texts: Vec<_> = named.iter().map(|(name, value)| format!("{name} {value}")).collect();
        (!texts.is_empty()).then(|| vec![format!("`{}`", benchmark.id), texts.join(", ")])
    });
    section(page, &format!("{round}, inference"), &["suite", "parameters"], &cells.collect::<Vec<_>>());
}

fn bandwidth(page: &mut String, round: &str, rows: &[Row]) {
    let bytes = |elements: &Option<Vec<u64>>| match elements.as_deref().unwrap_or_default() {
        [] => "negligible".to_owned(),
        [count] => format!("{count} x size of an element"),
        counts => {
            let parts = counts.iter().zip(1..).map(|(count, at)| format!("{count} x size of type {at}"));
            parts.collect::<Vec<_>>().join(" + ")
        }
    };
    let cells = rows.iter().filter_map(|(benchmark, row)| {
        row.ingress.as_ref()?;
        Some(vec![format!("`{}`", benchmark.id), bytes(&row.ingress), bytes(&row.egress)])
    });
    let title = format!("{round}, bytes per sample in data centers");
    section(page, &title, &["suite", "ingress", "egress"], &cells.collect::<Vec<_>>());
}

fn checker(page: &mut String, rules: Rules, rows: &[Row]) {
    let round = round_rules(rules);
    let of_round = round.checker.iter().map(|difference| ("the round".to_owned(), difference));
    let of_rows = rows.iter().flat_map(|(benchmark, row)| {
        row.checker.iter().map(move |difference| (format!("`{}`", benchmark.id), difference))
    });
    let cells = of_round.chain(of_rows).map(|(of, difference)| {
        vec![of, difference.about.clone(), difference.rules.to_string(), difference.checker.to_string()]
    });
    let mut cells: Vec<_> = cells.collect();
    let inferred = round.inferred.iter().map(|inferred| {
        let about = format!("{} inferred from {}", inferred.to, inferred.from);
        vec!["the edge".to_owned(), about, inferred.rules.clone(), inferred.checker.clone()]
    });
    cells.extend(inferred);
    let head = ["of", "about", "text of the rules", "result checker"];
    section(page, &format!("{}, text and result checker", rules.name), &head, &cells);
}

/// The page counts a target in percent, and no dust of a product is seen.
#[test]
fn percentages_have_no_dust() {
    for (fraction, shown) in
        [(0.99, "99"), (0.999, "99.9"), (0.98, "98"), (0.97, "97"), (0.9, "90"), (1.1, "110")]
    {
        assert_eq!(percent(fraction).to_string(), shown);
    }
}
