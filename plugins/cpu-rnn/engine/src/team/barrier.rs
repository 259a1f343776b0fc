//! The barrier of a team, in two forms.
//!
//! *Flat*, for up to 8 threads. Each thread has a word, alone on its cache line, that only this thread
//! writes: the number of barriers that it has come to. Whoever waits reads the words of all others. The last to arrive
//! is seen after two moves of a cache line, its write and a read, but n² lines move in all.
//!
//! *Tree*, for more. Threads are in groups of about √n. Whoever arrives adds one to the counter of its group, the last
//! of a group one to that of the root, and the last at the root writes the number of the barrier into a word of each
//! group, for which its members wait. Some 2n to 3n lines move, and each one to no more than √n threads. Whoever
//! arrives does all of this without waiting, so that as in the flat form a thread may work on between its arrival and
//! its waiting.
//!
//! The example `barrier` counts the lines for 2 to 128 threads, and measures both forms with two.
//!
//! A thread that panics poisons the barrier: no thread waits for it, and each one that meets it panics too.

use std::sync::atomic::Ordering;

use crate::sync::{Apart, AtomicU64, until};

/// Maximum number of threads that meet by the flat form. Counting cache lines, a tree pays from 8 on, but the count
/// ignores other costs of a tree.
const FLAT_MAX: usize = 8;

/// The count of a thread that has panicked, and the number of the barrier that releases all.
const POISON: u64 = u64::MAX;

/// How the threads of a team meet at a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BarrierForm {
    /// Flat for up to 8 threads, else a tree with groups of about the square root of their number.
    #[default]
    Automatic,
    /// Each thread reads all others' words: n² cache lines move.
    Flat,
    /// Threads meet in groups and the groups at the root: 2n to 3n cache lines move.
    Tree {
        /// Maximum number of threads of a group; 0 counts as 1.
        group_size: usize,
    },
}

/// Meeting point of the threads of a region; see the module.
#[derive(Debug)]
pub(super) struct Barrier {
    threads: usize,
    form: Form,
}

#[derive(Debug)]
enum Form {
    /// Barriers that each thread has reached.
    Flat(Box<[Apart<AtomicU64>]>),
    Tree(Box<Tree>),
}

#[derive(Debug)]
struct Tree {
    groups: Box<[Group]>,
    /// Number of threads of a group; the last one may have fewer.
    group_size: usize,
    /// Groups that were complete, summed over the barriers of this region.
    complete_groups: Apart<AtomicU64>,
}

#[derive(Debug, Default)]
struct Group {
    /// Number of times that a thread of the group has arrived in this region.
    arrived: Apart<AtomicU64>,
    /// Number of the last barrier in this region that all have reached.
    passed: Apart<AtomicU64>,
}

impl Barrier {
    pub(super) fn new(threads: usize, form: BarrierForm) -> Self {
        let form = match form {
            BarrierForm::Automatic if threads > FLAT_MAX => Form::Tree(Tree::boxed(threads, threads.isqrt())),
            BarrierForm::Automatic | BarrierForm::Flat => {
                Form::Flat((0..threads).map(|_| Apart::default()).collect())
            }
            BarrierForm::Tree { group_size } => Form::Tree(Tree::boxed(threads, group_size.max(1))),
        };
        Self { threads, form }
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Makes ready for the next region, also after one in which not all threads came to the same number of barriers.
    /// Returns the number from which all count. [caller, outside a region]
    pub(super) fn restart(&self) -> u64 {
        let clear = |word: &Apart<AtomicU64>| word.0.store(0, Ordering::Relaxed);
        match &self.form {
            Form::Flat(counts) => {
                // No thread is ahead if all go on from the highest count; a write for each would cost more.
                let highest = counts.iter().map(|count| count.0.load(Ordering::Relaxed)).max().unwrap_or(0);
                if highest != POISON {
                    return highest;
                }
                counts.iter().for_each(clear);
            }
            Form::Tree(tree) => {
                tree.groups.iter().flat_map(|group| [&group.arrived, &group.passed]).for_each(clear);
                clear(&tree.complete_groups);
            }
        }
        0
    }

    /// Announces to the first `among` threads that this one of them has reached barrier number `round`. It has waited
    /// for the one before. [the thread]
    #[inline]
    pub(super) fn arrive(&self, thread: usize, among: usize, round: u64) {
        match &self.form {
            Form::Flat(counts) => counts[thread].0.store(round, Ordering::Release),
            Form::Tree(tree) => tree.arrive(thread, among, round),
        }
    }

    /// Waits until every other of the first `among` threads has reached barrier number `round`. Returns whether one of
    /// them, in a tree any thread, has panicked. [the thread]
    #[inline]
    pub(super) fn wait(&self, thread: usize, among: usize, round: u64) -> bool {
        match &self.form {
            Form::Flat(counts) => {
                let mut poisoned = false;
                for (other, count) in counts[..among].iter().enumerate() {
                    if other != thread {
                        poisoned |= until(&count.0, |reached| reached >= round) == POISON;
                    }
                }
                poisoned
            }
            Form::Tree(tree) => until(&tree.group_of(thread).passed.0, |passed| passed >= round) == POISON,
        }
    }

    /// Releases everybody who waits for this thread, which has panicked, now and in the rest of the region. [the
    /// thread]
    pub(super) fn poison(&self, thread: usize) {
        match &self.form {
            Form::Flat(counts) => counts[thread].0.store(POISON, Ordering::Release),
            Form::Tree(tree) => tree.pass(&tree.groups, POISON),
        }
    }

    /// Returns whether a thread has panicked in this region.
    pub(super) fn is_poisoned(&self) -> bool {
        let is_poison = |word: &Apart<AtomicU64>| word.0.load(Ordering::Relaxed) == POISON;
        match &self.form {
            Form::Flat(counts) => counts.iter().any(is_poison),
            Form::Tree(tree) => is_poison(&tree.groups[0].passed),
        }
    }
}

impl Tree {
    fn boxed(threads: usize, group_size: usize) -> Box<Self> {
        let groups = (0..threads.div_ceil(group_size)).map(|_| Group::default()).collect();
        Box::new(Self { groups, group_size, complete_groups: Apart::default() })
    }

    fn group_of(&self, thread: usize) -> &Group {
        &self.groups[thread / self.group_size]
    }

    fn arrive(&self, thread: usize, among: usize, round: u64) {
        let first = thread - thread % self.group_size;
        let members = self.group_size.min(among - first);
        // AcqRel, in the group and at the root: the last to arrive acquires what the others have released, and releases
        // it again.
        let is_last = |word: &Apart<AtomicU64>, count: usize| {
            word.0.fetch_add(1, Ordering::AcqRel) + 1 == count as u64 * round
        };
        let groups = &self.groups[..among.div_ceil(self.group_size)];
        if is_last(&self.group_of(thread).arrived, members) && is_last(&self.complete_groups, groups.len()) {
            self.pass(groups, round);
        }
    }

    fn pass(&self, groups: &[Group], round: u64) {
        // The larger number stays: poison may have come before.
        for group in groups {
            group.passed.0.fetch_max(round, Ordering::Release);
        }
    }
}

/// Run by `RUSTFLAGS="--cfg loom" cargo test -p proctor-rnn-engine --release --lib loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::thread;

    use super::*;
    use crate::sync::{bounded_model, leaked, model};

    fn flat(threads: usize) -> Barrier {
        Barrier::new(threads, BarrierForm::Flat)
    }

    fn tree(threads: usize, group_size: usize) -> Barrier {
        Barrier::new(threads, BarrierForm::Tree { group_size })
    }

    /// Threads write, meet, and the first `looking` of them read what all wrote, `rounds` times.
    fn meet(barrier: Barrier, looking: usize, rounds: u64, arrive: fn(&Barrier, usize, u64)) {
        let barrier = leaked(barrier);
        let threads = barrier.threads();
        let written: &'static [AtomicU64] =
            leaked((0..threads).map(|_| AtomicU64::new(0)).collect::<Vec<_>>());
        let run = move |thread: usize| {
            for round in 1..=rounds {
                written[thread].store(round, Ordering::Relaxed);
                arrive(barrier, thread, round);
                if thread >= looking && round == rounds {
                    return;
                }
                assert!(!barrier.wait(thread, threads, round));
                let is_seen = written.iter().all(|word| word.load(Ordering::Relaxed) >= round);
                assert!(is_seen, "a write is not seen");
            }
        };
        let helpers: Vec<_> = (1..threads).map(|thread| thread::spawn(move || run(thread))).collect();
        run(0);
        helpers.into_iter().for_each(|helper| helper.join().unwrap());
    }

    fn arrive(barrier: &Barrier, thread: usize, round: u64) {
        barrier.arrive(thread, barrier.threads(), round);
    }

    /// The twin in which the last thread arrives without releasing.
    fn arrive_without_release(barrier: &Barrier, thread: usize, round: u64) {
        match &barrier.form {
            Form::Flat(counts) if thread + 1 == counts.len() => {
                counts[thread].0.store(round, Ordering::Relaxed)
            }
            _ => arrive(barrier, thread, round),
        }
    }

    /// The twin in which the last of a group acquires nothing, and so has nothing of its group to release at the root.
    fn arrive_without_acquire(barrier: &Barrier, thread: usize, round: u64) {
        let Form::Tree(tree) = &barrier.form else { unreachable!("a tree") };
        let members =
            tree.group_size.min(barrier.threads() - thread / tree.group_size * tree.group_size) as u64;
        if tree.group_of(thread).arrived.0.fetch_add(1, Ordering::Release) + 1 == members * round
            && tree.complete_groups.0.fetch_add(1, Ordering::AcqRel) + 1 == tree.groups.len() as u64 * round
        {
            tree.pass(&tree.groups, round);
        }
    }

    /// The twin that leaves the last thread out of the count.
    fn arrive_among_one_fewer(barrier: &Barrier, thread: usize, round: u64) {
        barrier.arrive(thread, barrier.threads() - 1, round);
    }

    #[test]
    fn loom_whoever_passes_the_barrier_sees_what_was_written_before_it() {
        model(|| meet(flat(2), 2, 1, arrive));
    }

    #[test]
    fn loom_three_threads_meet() {
        bounded_model(2, || meet(flat(3), 3, 1, arrive));
    }

    /// Four that all wait have too many executions: 95 s with one preemption.
    #[test]
    fn loom_two_of_four_threads_that_meet_see_all() {
        bounded_model(1, || meet(flat(4), 2, 1, arrive));
    }

    #[test]
    fn loom_two_threads_meet_twice_at_the_root_of_a_tree() {
        model(|| meet(tree(2, 1), 2, 2, arrive));
    }

    #[test]
    fn loom_three_threads_meet_in_a_tree() {
        bounded_model(2, || meet(tree(3, 2), 3, 2, arrive));
    }

    #[test]
    fn loom_four_threads_meet_in_a_tree() {
        bounded_model(2, || meet(tree(4, 2), 4, 1, arrive));
    }

    /// The twins must fail, or the models above prove nothing.
    #[test]
    #[should_panic(expected = "a write is not seen")]
    fn loom_finds_an_arrival_that_does_not_release() {
        model(|| meet(flat(2), 2, 1, arrive_without_release));
    }

    #[test]
    #[should_panic(expected = "a write is not seen")]
    fn loom_finds_one_of_three_arrivals_that_does_not_release() {
        bounded_model(2, || meet(flat(3), 3, 1, arrive_without_release));
    }

    #[test]
    #[should_panic(expected = "a write is not seen")]
    fn loom_finds_one_of_four_arrivals_that_does_not_release() {
        bounded_model(1, || meet(flat(4), 2, 1, arrive_without_release));
    }

    #[test]
    #[should_panic(expected = "a write is not seen")]
    fn loom_finds_the_last_of_a_group_of_three_that_does_not_acquire() {
        bounded_model(2, || meet(tree(3, 2), 3, 1, arrive_without_acquire));
    }

    #[test]
    #[should_panic(expected = "a write is not seen")]
    fn loom_finds_the_last_of_a_group_of_four_that_does_not_acquire() {
        bounded_model(1, || meet(tree(4, 2), 2, 1, arrive_without_acquire));
    }

    #[test]
    #[should_panic(expected = "a write is not seen")]
    fn loom_finds_a_tree_that_counts_a_thread_too_few() {
        bounded_model(1, || meet(tree(4, 2), 2, 1, arrive_among_one_fewer));
    }

    /// The twin in which a barrier that is complete covers the poison of a thread that has panicked. Of groups of one.
    fn arrive_and_cover_poison(barrier: &Barrier, _thread: usize, round: u64) {
        let Form::Tree(tree) = &barrier.form else { unreachable!("a tree") };
        let all = tree.groups.len() as u64;
        if tree.complete_groups.0.fetch_add(1, Ordering::AcqRel) + 1 == all * round {
            tree.groups.iter().for_each(|group| group.passed.0.store(round, Ordering::Release));
        }
    }

    /// A thread panics after it has arrived, while the other one completes the barrier.
    fn arrive_and_panic(barrier: Barrier, arrive: fn(&Barrier, usize, u64)) {
        let barrier = leaked(barrier);
        let helper = thread::spawn(move || {
            arrive(barrier, 1, 1);
            barrier.poison(1);
        });
        arrive(barrier, 0, 1);
        helper.join().unwrap();
        // Waiting at the next barrier would go on for ever, which a model does not see.
        assert!(barrier.is_poisoned(), "nobody hears of it at the next barrier");
    }

    #[test]
    fn loom_nobody_waits_for_a_thread_that_panics_after_it_arrived() {
        for barrier in [|| flat(2), || tree(2, 2), || tree(2, 1)] {
            model(move || arrive_and_panic(barrier(), self::arrive));
        }
    }

    #[test]
    #[should_panic(expected = "nobody hears of it")]
    fn loom_finds_a_barrier_that_covers_poison() {
        model(|| arrive_and_panic(tree(2, 1), arrive_and_cover_poison));
    }

    #[test]
    fn loom_nobody_waits_for_a_thread_that_panicked() {
        for barrier in [|| flat(2), || tree(2, 2), || tree(2, 1)] {
            model(move || {
                let barrier = leaked(barrier());
                let helper = thread::spawn(move || barrier.poison(1));
                barrier.arrive(0, 2, 1);
                assert!(barrier.wait(0, 2, 1));
                assert!(barrier.wait(0, 2, 2));
                helper.join().unwrap();
                assert!(barrier.is_poisoned());
                assert_eq!(barrier.restart(), 0);
                assert!(!barrier.is_poisoned());
            });
        }
    }
}
