//! Reports the cause of a process's end: a text of bounded length, made without allocation, so that a signal handler
//! can make it.

use std::{ffi::c_int, ptr};

use crate::{call::Call, guard::activity::Activity};

/// Maximum length of a report, in bytes. No longer than a pipe takes whole.
const CAPACITY: usize = 1024;
/// Maximum wait for a stderr without a reader, in ms.
const STDERR_LIMIT_MS: c_int = 1000;

/// A text with a limited length, beyond which it is cut off.
pub(super) struct Report {
    bytes: [u8; CAPACITY],
    length: usize,
}

impl Report {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; CAPACITY], length: 0 }
    }

    /// Creates the report of an event that was `done` to the process on this thread: by which plugin, in which call,
    /// and the other threads' calls meanwhile.
    pub(super) fn of(done: &[&str]) -> Self {
        match Activity::current() {
            Some(activity) => Self::by(activity, done),
            None => Self::on_no_thread_of_a_call(done),
        }
    }

    /// Returns the report of an event that was `done` to a process that has ended, of whose threads only the calls are
    /// known: the only one that was in a call has caused it.
    pub(super) fn after_the_end(done: &[&str]) -> Self {
        let mut in_calls = Activity::all().filter(|activity| activity.call().is_some());
        match (in_calls.next(), in_calls.next()) {
            (Some(activity), None) => Self::by(activity, done),
            (None, _) => Self::on_no_thread_of_a_call(done),
            (Some(_), Some(_)) => {
                let mut report = Self::new();
                report.text("a plugin ").texts(done).text(" in one of these calls\n");
                report.others(None);
                report
            }
        }
    }

    /// Returns the report of the end of the program that is no plugin's doing.
    pub(super) fn of_the_program(done: &[&str]) -> Self {
        let mut report = Self::new();
        report.texts(done).text("\n");
        report.others(None);
        report
    }

    fn by(activity: &'static Activity, done: &[&str]) -> Self {
        let mut report = Self::new();
        report.text("plugin ").text(activity.plugin()).text(" ").texts(done).place(activity).text("\n");
        report.others(Some(activity));
        report
    }

    fn on_no_thread_of_a_call(done: &[&str]) -> Self {
        let mut report = Self::new();
        report.texts(done);
        report.text(" on a thread that is in no call into a plugin; it may be a plugin's own thread\n");
        report.others(None);
        report
    }

    /// Appends a line for each call that other threads have made.
    pub(super) fn others(&mut self, current: Option<&Activity>) {
        let others = Activity::all().filter(|other| !current.is_some_and(|own| ptr::eq(own, *other)));
        for other in others.filter(|other| other.call().is_some()) {
            self.text("meanwhile plugin ").text(other.plugin()).text(" was at work").place(other).text("\n");
        }
    }

    /// Appends the call, the instance and the first sample.
    pub(super) fn place(&mut self, activity: &Activity) -> &mut Self {
        let call = activity.call();
        if let Some(call) = call {
            self.text(" in ").text(call.name());
        }
        if let Some(instance) = activity.instance() {
            self.text(", instance ").number(instance.into());
        }
        let work = match call {
            Some(Call::Issue) => "query",
            _ if activity.instance().is_some() => "batch",
            _ => return self,
        };
        if let Some(sample) = activity.first_sample() {
            self.text(", ").text(work).text(" that starts with sample ").number(sample);
        }
        self
    }

    fn texts(&mut self, texts: &[&str]) -> &mut Self {
        texts.iter().fold(self, |report, text| report.text(text))
    }

    /// Appends as much as fits.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.raw(text.as_bytes())
    }

    /// Appends as much as fits of bytes that may be no text, such as a path. A character that a terminal would obey and
    /// not show becomes a `?`: by the rule of `steers` in `proctor-vocabulary`, which takes whole characters.
    pub(super) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        for &byte in bytes {
            let steers = self.would_steer(byte);
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = if steers { b'?' } else { byte };
                self.length += 1;
            }
        }
        self
    }

    /// Returns whether this byte, after the report's bytes, ends a UTF-8 character that a terminal obeys.
    fn would_steer(&self, byte: u8) -> bool {
        match (self.bytes(), byte) {
            (_, b'\n') => false,
            (_, ..0x20 | 0x7f) => true,
            // C1.
            ([.., 0xc2], 0x80..=0x9f) => true,
            // What turns the direction of text, and separators of lines.
            ([.., 0xd8], 0x9c)
            | ([.., 0xe2, 0x80], 0x8e | 0x8f | 0xa8..=0xae)
            | ([.., 0xe2, 0x81], 0xa6..=0xa9) => true,
            _ => false,
        }
    }

    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        if number >= 10 {
            self.number(number / 10);
        }
        let digit = usize::try_from(number % 10).unwrap_or(0);
        self.text("0123456789".get(digit..=digit).unwrap_or_default())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub(super) fn write_to(&self, file: c_int) {
        // SAFETY: the first `length` bytes are initialised; `write` is async-signal-safe. A short write or an error
        // cannot be helped here.
        unsafe { libc::write(file, self.bytes.as_ptr().cast(), self.length) };
    }

    /// Writes the report to stderr, unless earlier output there is still unread.
    pub(super) fn write_to_stderr(&self) {
        let mut stderr = libc::pollfd { fd: libc::STDERR_FILENO, events: libc::POLLOUT, revents: 0 };
        // SAFETY: one live structure, and its count; `poll` is async-signal-safe.
        if unsafe { libc::poll(&raw mut stderr, 1, STDERR_LIMIT_MS) } == 1 {
            self.write_to(libc::STDERR_FILENO);
        }
    }
}

#[cfg(test)]
mod tests {
    use proctor_vocabulary::steers;

    use super::*;

    #[test]
    fn the_report_is_cut_off_at_its_end() {
        let mut report = Report::new();
        report.text("at ").number(0).text(" ").number(u64::MAX);
        assert_eq!(report.bytes(), b"at 0 18446744073709551615");
        report.text(&"x".repeat(2000));
        assert_eq!(report.bytes().len(), CAPACITY);
    }

    #[test]
    fn a_path_steers_no_terminal() {
        let mut report = Report::new();
        report.text("a\u{1b}[2J\u{7}\r\n").raw("\u{9b}1A\u{202e}\u{2066}\u{e9}\u{2014}".as_bytes());
        let text = String::from_utf8_lossy(report.bytes()).into_owned();
        assert_eq!(text, "a?[2J??\n\u{fffd}?1A\u{fffd}?\u{fffd}?\u{e9}\u{2014}");
        assert_eq!(proctor_vocabulary::printable_lines(&text), text);
    }

    #[test]
    fn its_rule_is_that_of_all_texts() {
        for character in ('\0'..='\u{ffff}').filter(|character| *character != '\n') {
            let mut report = Report::new();
            report.text(character.encode_utf8(&mut [0; 4]));
            assert_eq!(
                report.bytes().ends_with(b"?") && character != '?',
                steers(character),
                "{character:?}"
            );
        }
    }

    #[test]
    fn samples_are_named_where_a_call_is_about_them() {
        let place = |instance, call| {
            let activity = Activity::new("report-test", instance);
            activity.set_first_sample(7);
            activity.during(call, || {
                let mut report = Report::new();
                String::from_utf8(report.place(activity).bytes().to_vec()).unwrap()
            })
        };
        assert_eq!(place(Some(2), Call::Execute), " in execute, instance 2, batch that starts with sample 7");
        assert_eq!(place(None, Call::Issue), " in issue, query that starts with sample 7");
        assert_eq!(place(None, Call::Stop), " in stop");
    }
}
