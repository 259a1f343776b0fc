//! `host list benchmarks --rules ROUND`: the tables of a round.

use proctor_config::{RoundRow, RowCells, SuiteBenchmark, round_rules, suite_benchmarks};
use proctor_loadgen::Rules;
use proctor_words::{CommandError, HostError, text};

const HEAD: [&str; 9] =
    ["benchmark", "data set", "QSL", "quality", "constraints", "required", "optional", "size", "run here"];

/// Returns the tables of all suites of a round, or of one of them. The default round is used if none is given.
pub(super) fn list(rules: Option<&str>, suite: Option<&str>) -> Result<String, HostError> {
    let rules: Rules =
        rules.map_or_else(|| Ok(Rules::default()), str::parse).map_err(CommandError::UnknownRules)?;
    let round = round_rules(rules);
    let suites: Vec<Option<&str>> = match suite {
        Some(wanted) if round.suites.is_empty() => {
            return Err(CommandError::NoSuites { suite: wanted.to_owned(), rules }.into());
        }
        Some(wanted) => match round.suites.iter().find(|suite| suite.eq_ignore_ascii_case(wanted)) {
            Some(suite) => vec![Some(suite)],
            None => {
                let (suite, known) = (wanted.to_owned(), round.suites.clone());
                return Err(CommandError::UnknownSuite { suite, rules, known }.into());
            }
        },
        None if round.suites.is_empty() => vec![None],
        None => round.suites.iter().map(|suite| Some(suite.as_str())).collect(),
    };
    let rows: Vec<_> = suite_benchmarks().filter_map(|it| Some((it, it.row(rules)?))).collect();
    let mut lists: Vec<_> = suites.iter().map(|suite| table(&round.source, *suite, &rows)).collect();
    let of_all: Vec<_> =
        round.shown().into_iter().map(|(name, words)| vec![name.to_owned(), words]).collect();
    lists.push(format!("All of {rules}\n{}", text::table(&of_all)));
    let notes = notes(&rows, &suites, round.checker.iter().map(|it| (rules.name, it)));
    if !notes.is_empty() {
        lists.push(notes);
    }
    Ok(lists.join("\n"))
}

type Row = (&'static SuiteBenchmark, &'static RoundRow);

fn table(source: &str, suite: Option<&str>, rows: &[Row]) -> String {
    let title = suite.map_or_else(|| source.to_owned(), |suite| format!("{source}: {suite}"));
    let lines = rows.iter().filter_map(|(benchmark, row)| {
        let RowCells { dataset, samples, quality, constraints, required, optional } =
            RowCells::new(row, suite)?;
        let mut columns = [
            vec![benchmark.id.clone()],
            vec![dataset],
            vec![samples],
            quality,
            if constraints.is_empty() { vec!["-".to_owned()] } else { constraints },
            vec![required],
            vec![optional],
            vec![benchmark.size()],
            vec![benchmark.availability()],
        ];
        // Figures and constraints stand below each other.
        let height = columns.iter().map(Vec::len).max().unwrap_or(0);
        columns.iter_mut().for_each(|column| column.resize(height, String::new()));
        Some(
            (0..height)
                .map(move |line| columns.iter().map(|column| column[line].clone()).collect::<Vec<_>>()),
        )
    });
    let head = HEAD.map(str::to_owned).to_vec();
    format!("{title}\n{}", text::table(&[head].into_iter().chain(lines.flatten()).collect::<Vec<_>>()))
}

/// Returns the marks that the tables have, and the values that the checker has otherwise.
fn notes<'a>(
    rows: &[Row],
    suites: &[Option<&str>],
    of_round: impl Iterator<Item = (&'a str, &'a proctor_config::Difference)>,
) -> String {
    let shown =
        rows.iter().filter(|(_, row)| suites.iter().any(|suite| RowCells::new(row, *suite).is_some()));
    let shown: Vec<_> = shown.collect();
    let mut text = String::new();
    if shown.iter().any(|(_, row)| !row.open_in_rules.is_empty()) {
        text.push_str("* left open by the text of the rules: the value of the round's result checker\n");
    }
    let of_rows = shown.iter().flat_map(|(benchmark, row)| {
        row.checker.iter().map(|difference| (benchmark.id.as_str(), difference))
    });
    for (of, difference) in of_round.chain(of_rows) {
        let proctor_config::Difference { about, rules, checker, .. } = difference;
        text.push_str(&format!("{of}: {about}: {rules} in the text, {checker} in the result checker\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lines of a benchmark; the first begins with its id.
    fn row_of(text: &str, id: &str) -> String {
        let from = text.lines().skip_while(|line| line.split_whitespace().next() != Some(id));
        let below = |(at, line): &(usize, &str)| *at == 0 || line.starts_with("    ");
        from.enumerate().take_while(below).map(|(_, line)| format!("{line}\n")).collect()
    }

    #[test]
    fn a_suite_has_its_benchmarks_with_what_it_asks_of_them() {
        let text = list(Some("V5.0"), Some("Edge")).unwrap();
        assert!(text.starts_with("MLPerf Inference rules v5.0: edge\n  benchmark "), "{text}");
        let resnet = row_of(&text, "resnet50");
        for cell in [
            "ImageNet, 224x224",
            "1024 of 50000",
            "top1 99 % of 76.46 %",
            "SingleStream, MultiStream, Offline",
        ] {
            assert!(resnet.contains(cell), "{cell}: {resnet}");
        }
        assert!(resnet.contains("  25.6 M parameters, 7.8 GOPS per sample  --benchmark"), "{resnet}");
        assert!(row_of(&text, "bert").contains("f1 99 % or 99.9 % of 90.874"), "{text}");
        assert!(row_of(&text, "gptj").contains("gen_len at least 90 % of 4016878"), "{text}");
        assert!(row_of(&text, "gptj").contains("no definition yet: generation of text"), "{text}");
        assert!(row_of(&text, "pointpainting").contains("SingleStream at the 99.9th percentile*"), "{text}");
        assert!(
            text.contains("untimed steps      resize, transpose, pad, crop, normalize, convert, tokenize"),
            "{text}"
        );
        assert!(!text.contains("dlrm-v2") && !text.contains("datacenter"), "{text}");
        assert!(
            text.contains("3d-unet-kits19: reference of dice: 0.8633 in the text, 0.8617 in the result"),
            "{text}"
        );
    }

    #[test]
    fn all_suites_of_a_round_or_the_one_without_any() {
        let text = list(Some("v0.7"), None).unwrap();
        assert!(
            text.contains("  numerical formats  INT4, INT8, ") && text.contains("  5 of Server\n"),
            "{text}"
        );
        assert!(text.contains("v0.7: datacenter\n") && text.contains("v0.7: edge\n"), "{text}");
        assert!(row_of(&text, "rnnt").contains("Server 1000 ms for 97 %"), "{text}");
        assert!(row_of(&text, "rnnt").contains("--benchmark rnnt"), "{text}");
        let text = list(Some("v0.5"), None).unwrap();
        let gnmt = row_of(&text, "gnmt");
        for cell in [
            "3903900* of 3003",
            "MultiStream every 100 ms for 97 %",
            "Server 250 ms for 97 %",
            "  210 M parameters  ",
            "--benchmark gnmt",
        ] {
            assert!(gnmt.contains(cell), "{cell}: {gnmt}");
        }
        assert!(text.contains("\n* left open by the text of the rules"), "{text}");
        assert_eq!(list(None, None).unwrap(), list(Some("v5.0"), None).unwrap());
    }

    /// The newest round has benchmarks that run here, and others that are known only.
    #[test]
    fn the_newest_round_says_what_has_no_definition_yet() {
        let text = list(Some("v6.1"), None).unwrap();
        let title = "MLPerf Inference v6.1, by its result checker: datacenter\n  benchmark ";
        assert!(text.starts_with(title), "{text}");
        for id in ["3d-unet-kits19", "bert", "resnet50"] {
            assert!(row_of(&text, id).contains(&format!("--benchmark {id}")), "{id}: {text}");
        }
        for id in ["llama3.1-8b", "llama3.1-8b-edge", "whisper", "yolo", "qwen3.6-27b", "e2e-rag-db"] {
            assert!(row_of(&text, id).contains("no definition yet: "), "{id}: {text}");
        }
        assert!(row_of(&text, "yolo").contains("map 95 % or 99 % of 53.4 %"), "{text}");
        assert!(row_of(&text, "gpt-oss-120b").contains("tokens_per_sample at most 10998.9"), "{text}");
        let llama2 = row_of(&text, "llama2-70b");
        for cell in
            ["Server TTFT 2000 ms", "Interactive TTFT 450 ms and TPOT 40 ms for 99 %", "Server, Interactive"]
        {
            assert!(llama2.contains(cell), "{cell}: {llama2}");
        }
        assert!(!text.contains("retinanet") && !text.contains("gptj"), "{text}");
    }

    #[test]
    fn a_round_or_suite_that_is_not_there_is_met_with_the_near_one() {
        let error = |rules, suite| list(rules, suite).unwrap_err().to_string();
        let unknown = error(Some("v0.6"), None);
        assert_eq!(unknown, "--rules: unknown rules \"v0.6\"; known are v6.1, v6.0, v5.1, v5.0, v0.7, v0.5");
        assert_eq!(
            error(None, Some("egde")),
            "--suite egde: v5.0 has datacenter and edge, did you mean \"edge\"?"
        );
        let none = "--suite edge: v0.5 has no suites; leave --suite out to see all of its benchmarks";
        assert_eq!(error(Some("v0.5"), Some("edge")), none);
    }
}
