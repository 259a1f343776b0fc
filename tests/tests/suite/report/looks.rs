//! Pages in a browser: how they are laid out at three widths, light and dark, and whether everybody can use them.

use std::{env, fs, path::PathBuf};

use proctor_tests::Bench;
use serde_json::{Value, json};

use crate::report::{
    browser::{Browser, View},
    page::{Page, SERVER},
};

/// A phone, a tablet and a desk.
const WIDTHS: [u32; 3] = [390, 820, 1440];
/// Names a folder into which screenshots go, for people to look at.
const KEEP: &str = "PROCTOR_TEST_SCREENSHOTS";

/// One page with a run of each kind: every picture that there is.
fn everything(bench: &Bench) -> Page {
    let mock = "--plugin mock --mode performance --set mock.service=fixed";
    let mut folders: Vec<PathBuf> = [
        SERVER.to_owned(),
        format!(
            "{mock} --scenario Server --set use_token_latencies=true --set mock.tokens=4 --target-qps 400 --duration 500ms"
        ),
        "--plugin mock --virtual-time --scenario Server --mode FindPeakPerformance --set mock.service=fixed \
         --target-qps 100 --set min_duration_ms=200 --set min_query_count=50"
            .to_owned(),
        format!(
            "{mock} --virtual-time --scenario Offline --policy joint --slo-ms 20 --set mock.per_sample_us=100 \
             --set offline_expected_qps=10000"
        ),
        "--plugin mock --mode accuracy".to_owned(),
        "--plugin faulty --set faulty.fault=crash --mode performance --duration 1s".to_owned(),
    ]
    .iter()
    .map(|flags| bench.run(flags).folder().to_owned())
    .collect();
    let search = bench.file("search");
    let flags = "--plugin mock --virtual-time --set mock.service=fixed --target-qps 100 --duration 200ms \
                 --set server_target_latency_ns=10000000 --set enable_trace=false";
    let finished = bench.host(&format!("find-max --output {} {flags}", search.display()));
    assert_eq!(finished.code(), 0, "{finished}");
    folders.push(search);
    make_noisy(&folders[0]);
    Page::of(bench, &folders)
}

/// Gives a result the noise of a machine, which virtual time has not.
fn make_noisy(folder: &std::path::Path) {
    let path = folder.join("result.json");
    let mut result: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    result["performance_run"]["noise"] = json!({
        "state": "noisy", "observed_ns": 5_000_000_000_u64, "noisy_ns": 1_000_000_000,
        "noisy_intervals": [{ "begin_ns": 1_000_000_000, "end_ns": 2_000_000_000, "causes": [
            { "kind": "foreign_load", "value": 430_000_000, "threshold": 50_000_000, "unit": "ns" }] }],
    });
    fs::write(path, result.to_string()).unwrap();
}

#[test]
fn a_browser_has_nothing_to_say_against_a_page() {
    let Some(browser) = Browser::find() else { return };
    let bench = Bench::new();
    let page = Page::of(&bench, &[bench.run(SERVER).folder().to_owned()]);
    assert_eq!(browser.console(&page.path), Vec::<String>::new());
}

#[test]
fn everybody_can_read_a_page_at_every_width_light_and_dark() {
    let Some(browser) = Browser::find() else { return };
    let bench = Bench::new();
    let page = everything(&bench);
    assert_eq!(browser.console(&page.path), Vec::<String>::new());
    let keep = env::var_os(KEEP).map(PathBuf::from);
    for width in WIDTHS {
        for is_dark in [false, true] {
            let view = View { width, is_dark };
            // Axe takes its time: it looks once at each width, and at both shades.
            let with_axe = (width == 820) == is_dark;
            let found = browser.check(&page.path, view, with_axe);
            if with_axe {
                assert_eq!(found["violations"], json!([]), "{view:?}");
                assert!(found["passes"].as_u64() > Some(10), "{found}");
            }
            assert!(found["pictures"].as_u64() > Some(20), "{found}");
            assert_eq!((&found["width"], &found["isDark"]), (&json!(width), &json!(is_dark)));
            assert!(found["contentWidth"].as_u64() <= Some(u64::from(width)), "{view:?}: {found}");
            for list in ["overlaps", "outside", "small"] {
                assert_eq!(found[list], json!([]), "{list} in {view:?}");
            }
            let is_white = found["background"] == "rgb(255, 255, 255)";
            assert_ne!(is_white, is_dark, "{found}");
            if let Some(keep) = &keep {
                let shade = if is_dark { "dark" } else { "light" };
                browser.screenshot(&page.path, view, &keep.join(format!("{width}-{shade}.png")));
            }
        }
    }
}

#[test]
fn the_checks_see_what_is_wrong() {
    let Some(browser) = Browser::find() else { return };
    let bench = Bench::new();
    let page = bench.write(
        "page.html",
        "<!DOCTYPE html><html lang=\"en\"><head><meta http-equiv=\"Content-Security-Policy\" content=\"script-src 'none'\">\
         <title>t</title></head><body><img src=\"data:,\"><p style=\"width:2000px\">wide</p><svg class=\"picture\">\
         <title>p</title><text y=\"20\">over</text><text y=\"22\">other</text></svg>\
         <script>console.log(1)</script></body></html>",
    );
    let found = browser.check(&page, View { width: 820, is_dark: true }, true);
    assert!(found["violations"].to_string().contains("image-alt"), "{found}");
    assert!(found["contentWidth"].as_u64() > Some(820), "{found}");
    assert_eq!(found["overlaps"], json!(["p: over | other"]));
    assert_eq!(browser.console(&page).len(), 1, "a script that the page forbids");
}
