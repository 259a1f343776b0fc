//! Differences between a recording and its replay.

use std::collections::{BTreeMap, HashSet};

use proctor_plugin_host::{Answer, status_name};
use proctor_words::text::counted;

use super::recorded::{Recorded, Step};

/// A recording compared with its replay.
#[derive(Debug, PartialEq)]
pub(crate) struct Comparison {
    /// The first call that differs.
    pub(crate) call: Option<CallDifference>,
    pub(crate) call_count: usize,
    /// The first call that returns in the replay alone, as one does that crashed when it was recorded: its number, and
    /// the call in words.
    pub(crate) unreturned: Option<(u64, String)>,
    /// The first sample whose answers differ.
    pub(crate) answer: Option<AnswerDifference>,
    /// Number of samples whose answers differ, and of all whose answers were compared.
    pub(crate) differing_count: usize,
    pub(crate) answered_count: usize,
    pub(crate) times: Vec<Times>,
    /// Reason why the replay ended early, if it gave up.
    pub(crate) gave_up: Option<String>,
    /// The recorded run ended.
    pub(crate) has_ended: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CallDifference {
    /// Number of the call in the recording.
    pub(crate) number: u64,
    /// The recorded call.
    pub(crate) call: String,
    pub(crate) difference: String,
}

/// A sample whose answers differ.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AnswerDifference {
    pub(crate) id: u64,
    /// `None` for an unrequested answer.
    pub(crate) index: Option<u64>,
    pub(crate) difference: String,
}

/// Durations of the calls of one name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) call: String,
    pub(crate) recorded: Spread,
    pub(crate) replayed: Spread,
}

/// The spread of some times, in ns.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Spread {
    pub(crate) count: usize,
    pub(crate) median_ns: u64,
    pub(crate) greatest_ns: u64,
}

impl Comparison {
    /// Holds a replay against its recording.
    pub(crate) fn new(recorded: &Recorded, replayed: &Recorded) -> Self {
        let (mut call, mut call_count, mut unreturned) = (None, 0, None);
        let mut others = replayed.repeated();
        for step in recorded.repeated() {
            let other = others.next();
            if let Some(difference) = difference(step, other, recorded.is_whole()) {
                call = Some(CallDifference { number: step.begun.number, call: in_words(step), difference });
                break;
            }
            if step.returned.is_none() && other.is_some_and(|other| other.returned.is_some()) {
                unreturned.get_or_insert_with(|| (step.begun.number, in_words(step)));
            }
            call_count += 1;
        }
        if let Some(more) = others.next().filter(|_| call.is_none() && recorded.is_whole()) {
            let difference = "it comes in the replay alone".to_owned();
            call = Some(CallDifference { number: more.begun.number, call: in_words(more), difference });
        }
        let (mut answer, mut differing_count, mut answered_count) = (None, 0, 0);
        for (id, index) in samples(recorded, replayed) {
            let (one, two) = (recorded.answers_to(id), replayed.answers_to(id));
            // A recording that ends in a crash lacks the answers that had not come yet.
            let is_lost = index.is_some() && one.is_empty() && !recorded.has_ended();
            if is_lost || (one.is_empty() && two.is_empty()) {
                continue;
            }
            answered_count += 1;
            let Some(difference) = answers_difference(one, two) else { continue };
            differing_count += 1;
            answer.get_or_insert(AnswerDifference { id, index, difference });
        }
        let times = times(recorded, replayed);
        Self {
            call,
            call_count,
            unreturned,
            answer,
            differing_count,
            answered_count,
            times,
            gave_up: None,
            has_ended: recorded.has_ended(),
        }
    }

    /// Returns whether only times differ. A run that ended may have given up as its replay did.
    pub(crate) fn is_same(&self) -> bool {
        let is_no_new_hang = self.gave_up.is_none() || self.has_ended;
        self.call.is_none() && self.answer.is_none() && is_no_new_hang
    }
}

/// Returns a call with its instance and its samples.
pub(super) fn in_words(step: &Step) -> String {
    let begun = &step.begun;
    let instance = begun.instance.map_or_else(String::new, |number| format!(" on instance {number}"));
    let samples = match &begun.samples[..] {
        [] => String::new(),
        [(_, index)] => format!(" of sample {index}"),
        [(_, first), .., (_, last)] => {
            format!(" of {} samples, from sample {first} to {last}", begun.samples.len())
        }
    };
    format!("{}{instance}{samples}", step.name())
}

/// Returns the difference between a call and its repetition. In a recording that was cut off the last calls may not
/// have returned.
fn difference(step: &Step, other: Option<&Step>, is_whole: bool) -> Option<String> {
    let Some(other) = other else { return Some("it does not come in the replay".to_owned()) };
    let (one, two) = (&step.begun, &other.begun);
    if step.name() != other.name() || one.instance != two.instance {
        return Some(format!("in the replay comes {}", in_words(other)));
    }
    if let Some(text) = input_difference(step, other) {
        return Some(text);
    }
    if one.samples != two.samples || one.part != two.part {
        return Some(format!("in the replay it is {}", in_words(other)));
    }
    let (one, two) = match (&step.returned, &other.returned) {
        (Some(one), Some(two)) => (one, two),
        (None, other) if !is_whole || other.is_none() => return None,
        (None, _) => return Some("it returns in the replay alone".to_owned()),
        (Some(_), None) => return Some("it does not return in the replay".to_owned()),
    };
    if one.status != two.status {
        let status = |returned: &proctor_plugin_host::Returned| {
            let message = if returned.message.is_empty() { "" } else { ": " };
            format!("{}{message}{}", status_name(returned.status), returned.message)
        };
        return Some(format!("it returned {}, and in the replay {}", status(one), status(two)));
    }
    if one.service_time_ns != two.service_time_ns {
        let ns = |time: Option<u64>| time.map_or_else(|| "no time".to_owned(), |time| format!("{time} ns"));
        let (one, two) = (ns(one.service_time_ns), ns(two.service_time_ns));
        return Some(format!("it took {one} of virtual time, and in the replay {two}"));
    }
    None
}

/// Returns the first differing input.
fn input_difference(step: &Step, other: &Step) -> Option<String> {
    let (one, two) = (&step.begun.prepared, &other.begun.prepared);
    if one.len() != two.len() {
        return Some(format!("it has {} samples, and in the replay {}", one.len(), two.len()));
    }
    let (one, two) = one.iter().zip(two).find(|(one, two)| one != two)?;
    Some(format!(
        "the input of sample {} has {} bytes with the hash {}, and in the replay sample {} has {} with {}",
        one.index,
        one.size_bytes,
        one.hash.as_deref().unwrap_or("-"),
        two.index,
        two.size_bytes,
        two.hash.as_deref().unwrap_or("-")
    ))
}

/// Returns the ids of the samples of both, each once, in the order of the requests, with their indices; then
/// the ids of unrequested answers.
fn samples(recorded: &Recorded, replayed: &Recorded) -> Vec<(u64, Option<u64>)> {
    let asked = recorded.asked.iter().chain(&replayed.asked).map(|(id, index)| (*id, Some(*index)));
    let answered = recorded.answered().chain(replayed.answered()).map(|id| (id, None));
    let mut seen = HashSet::new();
    asked.chain(answered).filter(|(id, _)| seen.insert(*id)).collect()
}

/// Returns the difference between all answers to a sample, which may come in any order.
fn answers_difference(one: &[Answer], two: &[Answer]) -> Option<String> {
    match (one.len(), two.len()) {
        (_, 0) if !one.is_empty() => return Some("it has no answer in the replay".to_owned()),
        (0, is) if is > 0 => {
            return Some(format!("it has {} in the replay, and had none", counted(is as u64, "answer")));
        }
        (was, is) if was != is => {
            return Some(format!("it had {}, and has {is} in the replay", counted(was as u64, "answer")));
        }
        _ => {}
    }
    let mut more: Vec<_> = two.iter().collect();
    let mut fewer = Vec::new();
    for answer in one {
        match more.iter().position(|other| answer_difference(answer, other).is_none()) {
            Some(place) => _ = more.remove(place),
            None => fewer.push(answer),
        }
    }
    fewer.first().zip(more.first()).and_then(|(one, two)| answer_difference(one, two))
}

/// Returns the difference between two answers.
fn answer_difference(one: &Answer, two: &Answer) -> Option<String> {
    if one.status != two.status {
        let (one, two) = (status_name(one.status), status_name(two.status));
        return Some(format!("its status was {one}, and is {two} in the replay"));
    }
    if one.size_bytes != two.size_bytes {
        let (one, two) = (one.size_bytes, two.size_bytes);
        return Some(format!("its answer had {one} bytes, and has {two} in the replay"));
    }
    if one.hash != two.hash {
        let hash = |answer: &Answer| answer.hash.clone().unwrap_or_else(|| "-".to_owned());
        let (one, two) = (hash(one), hash(two));
        return Some(format!("the hash of its answer was {one}, and is {two} in the replay"));
    }
    let (one, two) = (one.token_count, two.token_count);
    (one != two).then(|| format!("its answer had {one} tokens, and has {two} in the replay"))
}

fn times(recorded: &Recorded, replayed: &Recorded) -> Vec<Times> {
    let by_name = |recorded: &Recorded| {
        let mut times = BTreeMap::<String, Vec<u64>>::new();
        for step in recorded.repeated() {
            let Some(returned) = &step.returned else { continue };
            times.entry(step.name().to_owned()).or_default().push(returned.took_ns);
        }
        times
    };
    let (one, mut two) = (by_name(recorded), by_name(replayed));
    let row = |(call, taken): (String, Vec<u64>)| {
        let replayed = two.remove(&call).unwrap_or_default();
        Times { call, recorded: Spread::of(taken), replayed: Spread::of(replayed) }
    };
    one.into_iter().map(row).collect()
}

impl Spread {
    fn of(mut times_ns: Vec<u64>) -> Self {
        times_ns.sort_unstable();
        let count = times_ns.len();
        let at = |place: usize| times_ns.get(place).copied().unwrap_or(0);
        let median_ns = u64::midpoint(at(count.saturating_sub(1) / 2), at(count / 2));
        Self { count, median_ns, greatest_ns: times_ns.last().copied().unwrap_or(0) }
    }
}

#[cfg(test)]
mod tests {
    use proctor_plugin_host::{Begun, Call, Input, Line, Returned};

    use super::*;

    fn call(number: u64, call: Call, instance: Option<u32>, samples: &[(u64, u64)]) -> Line {
        let samples = samples.to_vec();
        Line::Call(Begun { number, call: call.into(), instance, samples, ..Begun::default() })
    }

    fn returned(number: u64, status: i32, answers: &[(u64, &str)]) -> Line {
        let answer = |(id, hash): &(u64, &str)| Answer {
            id: *id,
            size_bytes: 4,
            hash: Some((*hash).to_owned()),
            ..Answer::default()
        };
        let answers = answers.iter().map(answer).collect();
        Line::Return(Returned { number, status, took_ns: 10 * number, answers, ..Returned::default() })
    }

    fn lines() -> Vec<Line> {
        let input = Input { index: 3, size_bytes: 8, hash: Some("in".to_owned()) };
        let prepare =
            Begun { number: 1, call: Call::PrepareSamples.into(), prepared: vec![input], ..Begun::default() };
        vec![
            Line::Call(prepare),
            returned(1, 0, &[]),
            call(2, Call::Execute, Some(0), &[(7, 3), (8, 4)]),
            returned(2, 0, &[(7, "aa"), (8, "bb")]),
            call(3, Call::Close, None, &[]),
            returned(3, 0, &[]),
        ]
    }

    fn compare(change: impl FnOnce(&mut Vec<Line>)) -> Comparison {
        let mut changed = lines();
        change(&mut changed);
        Comparison::new(&Recorded::of(lines()), &Recorded::of(changed))
    }

    #[test]
    fn a_median_has_half_of_the_times_on_either_side() {
        let of = |times_ns: &[u64]| {
            let Spread { count, median_ns, greatest_ns } = Spread::of(times_ns.to_vec());
            (count, median_ns, greatest_ns)
        };
        assert_eq!((of(&[]), of(&[7])), ((0, 0, 0), (1, 7, 7)));
        assert_eq!((of(&[9, 1, 2]), of(&[9, 1, 2, 4])), ((3, 2, 9), (4, 3, 9)));
    }

    #[test]
    fn a_recording_is_the_same_as_itself() {
        let same = compare(|_| ());
        assert!(same.is_same());
        assert_eq!((same.call_count, same.answered_count, same.differing_count), (3, 2, 0));
        let execute = same.times.iter().find(|times| times.call == "execute").unwrap();
        assert_eq!(execute.recorded, Spread { count: 1, median_ns: 20, greatest_ns: 20 });
    }

    #[test]
    fn the_first_difference_is_named_and_answers_are_counted() {
        let differing = compare(|lines| lines[3] = returned(2, 0, &[(7, "aa"), (8, "cc")]));
        let AnswerDifference { id, index, difference } = differing.answer.as_ref().unwrap();
        assert_eq!((*id, *index, differing.differing_count), (8, Some(4), 1));
        assert_eq!(difference, "the hash of its answer was bb, and is cc in the replay");
        assert!(!differing.is_same() && differing.call.is_none());

        let failed = compare(|lines| lines[3] = returned(2, 1, &[]));
        let failing = failed.call.unwrap();
        assert_eq!(failing.number, 2);
        assert_eq!(failing.call, "execute on instance 0 of 2 samples, from sample 3 to 4");
        assert_eq!(failing.difference, "it returned OK, and in the replay FAILED");
        assert_eq!(failed.differing_count, 2);

        let other = compare(|lines| lines[2] = call(2, Call::Execute, Some(1), &[(7, 3), (8, 4)]));
        assert!(other.call.unwrap().difference.starts_with("in the replay comes execute on instance 1"));
        let fewer = compare(|lines| lines.truncate(4));
        assert_eq!(fewer.call.unwrap().difference, "it does not come in the replay");
        let more = compare(|lines| lines.push(call(4, Call::Stop, None, &[])));
        assert_eq!(more.call.unwrap().difference, "it comes in the replay alone");
        let input = compare(|lines| {
            let Line::Call(begun) = &mut lines[0] else { unreachable!() };
            begun.prepared[0].hash = Some("other".to_owned());
        });
        assert!(input.call.unwrap().difference.contains("with the hash in, and in the replay"));
    }

    #[test]
    fn an_answer_more_or_less_on_either_side_is_a_difference() {
        let answered = |answers: &[(u64, &str)]| {
            let mut lines = lines();
            lines[3] = returned(2, 0, answers);
            Recorded::of(lines)
        };
        let two = [(7, "aa"), (8, "bb")];
        for (one, other, index, difference) in [
            (&two[..], &two[..1], Some(4), "it has no answer in the replay"),
            (&two[..1], &two[..], Some(4), "it has 1 answer in the replay, and had none"),
            (&[][..], &two[..], Some(3), "it has 1 answer in the replay, and had none"),
            (
                &two[..],
                &[(7, "aa"), (8, "bb"), (8, "bb")][..],
                Some(4),
                "it had 1 answer, and has 2 in the replay",
            ),
            (
                &[(7, "aa"), (7, "aa"), (8, "bb")][..],
                &two[..],
                Some(3),
                "it had 2 answers, and has 1 in the replay",
            ),
            (
                &[(7, "aa"), (7, "cc"), (8, "bb")][..],
                &[(7, "aa"), (7, "aa"), (8, "bb")][..],
                Some(3),
                "the hash of its answer was cc, and is aa in the replay",
            ),
            (
                &two[..],
                &[(7, "aa"), (8, "bb"), (99, "bb")][..],
                None,
                "it has 1 answer in the replay, and had none",
            ),
        ] {
            let compared = Comparison::new(&answered(one), &answered(other));
            let answer = compared.answer.as_ref().unwrap();
            assert_eq!((answer.index, &*answer.difference), (index, difference));
            assert!(!compared.is_same());
        }
        let (one, other) = (answered(&[(7, "aa"), (7, "cc")]), answered(&[(7, "cc"), (7, "aa")]));
        assert!(Comparison::new(&one, &other).is_same(), "they come in any order");
    }

    #[test]
    fn of_a_warm_up_the_status_is_compared_and_no_answer() {
        let warmed_up = |status: i32, answers: &[(u64, &str)]| {
            Recorded::of(vec![call(1, Call::WarmUp, Some(0), &[(0, 3)]), returned(1, status, answers)])
        };
        let recorded = warmed_up(0, &[(0, "aa")]);
        for answers in [&[][..], &[(0, "cc")][..], &[(0, "aa"), (0, "aa")][..]] {
            let compared = Comparison::new(&recorded, &warmed_up(0, answers));
            assert!(compared.is_same() && compared.answered_count == 0, "{compared:?}");
        }
        assert!(!Comparison::new(&recorded, &warmed_up(6, &[])).is_same());
    }

    #[test]
    fn an_answer_that_a_run_did_without_is_a_difference_and_one_lost_in_a_crash_is_none() {
        let mut queries = vec![call(1, Call::Issue, None, &[(7, 3)]), returned(1, 0, &[])];
        let replayed = || {
            let told = returned(2, 0, &[(7, "aa")]);
            Recorded::of(vec![call(1, Call::Issue, None, &[(7, 3)]), returned(1, 0, &[]), told])
        };
        let crashed = Comparison::new(&Recorded::of(queries.clone()), &replayed());
        assert!(crashed.is_same());
        assert!(!Comparison { gave_up: Some("no answer".to_owned()), ..crashed }.is_same());
        queries.push(Line::End);
        assert!(!Comparison::new(&Recorded::of(queries), &replayed()).is_same());
    }

    #[test]
    fn a_call_that_returns_in_the_replay_alone_is_named() {
        // It crashed in `execute`.
        let crashed = Recorded::of(lines().into_iter().take(3).collect());
        let compared = Comparison::new(&crashed, &Recorded::of(lines()));
        let call = "execute on instance 0 of 2 samples, from sample 3 to 4".to_owned();
        assert_eq!((compared.is_same(), compared.unreturned), (true, Some((2, call))));
        let again = Comparison::new(&crashed, &Recorded::of(lines().into_iter().take(3).collect()));
        assert_eq!(again.unreturned, None);
    }

    #[test]
    fn a_recording_that_was_cut_off_is_compared_as_far_as_it_goes() {
        for length in 0..6 {
            let cut = Recorded::of(lines().into_iter().take(length).collect());
            let compared = Comparison::new(&cut, &Recorded::of(lines()));
            assert!(compared.is_same(), "{length}: {compared:?}");
        }
    }
}
