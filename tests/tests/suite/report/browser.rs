//! A real browser without a window, Debian's chromium-headless-shell, and what it makes of a page.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use proctor_tests::workspace;
use serde_json::Value;

const PROGRAM: &str = "chromium-headless-shell";
/// The checker of accessibility, as `cargo xtask setup` installs it: below a folder for each version of Python.
const AXE: &str = "target/python-axe-playwright-python-0.1.8";
/// How long the scripts of a page may take, in ms of the browser's clock.
const PATIENCE_MS: u32 = 60_000;

/// A way to look at a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    /// Width of the window in pixels.
    pub(crate) width: u32,
    /// Whether the user wants dark pages.
    pub(crate) is_dark: bool,
}

/// A browser that is installed, and the checker.
pub(crate) struct Browser {
    axe: PathBuf,
}

impl Browser {
    /// The browser; `None` if it is not here, and the test has skipped itself.
    pub(crate) fn find() -> Option<Self> {
        let runs =
            Command::new(PROGRAM).arg("--version").output().is_ok_and(|output| output.status.success());
        let folders = fs::read_dir(workspace().join(AXE)).into_iter().flatten().filter_map(Result::ok);
        let axe =
            folders.map(|it| it.path().join("axe_playwright_python/axe.min.js")).find(|path| path.is_file());
        if let (true, Some(axe)) = (runs, axe) {
            return Some(Self { axe });
        }
        proctor_test_needs::skip(format!("no {PROGRAM}, or no axe; `cargo xtask setup` installs both"));
        None
    }

    /// The lines of the browser's console when it opens a page.
    pub(crate) fn console(&self, page: &Path) -> Vec<String> {
        let (_, log) = self.open(page, View { width: 1440, is_dark: false }, &["--dump-dom"]);
        log.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect()
    }

    /// Writes a picture of the page.
    pub(crate) fn screenshot(&self, page: &Path, view: View, file: &Path) {
        let target = format!("--screenshot={}", file.display());
        self.open(page, view, &[&target, "--hide-scrollbars"]);
    }

    /// Runs `checks.js` and, if asked for, axe on a copy of the page; returns what they found.
    pub(crate) fn check(&self, page: &Path, view: View, with_axe: bool) -> Value {
        let text = fs::read_to_string(page).unwrap();
        // The page itself forbids scripts.
        let (before, rest) = text.split_once("<meta http-equiv=\"Content-Security-Policy\"").unwrap();
        let (_, after) = rest.split_once('>').unwrap();
        let axe = if with_axe { fs::read_to_string(&self.axe).unwrap() } else { String::new() };
        let checks = include_str!("checks.js");
        let body =
            after.replace("</body>", &format!("<script>{axe}</script><script>{checks}</script></body>"));
        let copy = page.with_extension("checked.html");
        fs::write(&copy, format!("{before}{body}")).unwrap();
        let budget = format!("--virtual-time-budget={PATIENCE_MS}");
        let (document, log) = self.open(&copy, view, &["--dump-dom", &budget]);
        let found = document.split_once("<pre id=\"found\">").and_then(|(_, rest)| rest.split_once("</pre>"));
        let (found, _) = found.unwrap_or_else(|| panic!("no answer of the checks: {log}"));
        let found = found.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        serde_json::from_str(&found).unwrap()
    }

    fn open(&self, page: &Path, view: View, flags: &[&str]) -> (String, String) {
        let mut command = Command::new(PROGRAM);
        command.args(["--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]);
        command.arg(format!("--window-size={},900", view.width));
        // 0 is dark and 1 is light.
        command.arg(format!("--blink-settings=preferredColorScheme={}", u8::from(!view.is_dark)));
        command.args(flags).arg(format!("file://{}", page.display()));
        let output = command.output().unwrap();
        let [document, log] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(output.status.success(), "{log}");
        (document, log)
    }
}
