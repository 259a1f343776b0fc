//! Prints what a parallel region and a barrier cost on a team, and what the two forms of the barrier cost by a count of
//! the cache lines that move, which it then holds against two threads of this machine: `barrier THREADS`.
//!
//! The count supposes that a line that another core has touched since takes one move to read or to write, that the
//! readers of a line are served one after the other, and that all threads arrive at the same time.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use proctor_rnn_engine::{BarrierForm, Team, TeamOptions};

/// Barriers of a count: the first ones, in which no core has touched a line yet, are left out.
const COUNTED: std::ops::Range<u32> = 2..6;

fn main() {
    let threads = match std::env::args().nth(1).map(|count| count.parse()) {
        None => 2,
        Some(Ok(threads)) => threads,
        Some(Err(error)) => {
            eprintln!("error: the number of threads: {error}; barrier THREADS");
            std::process::exit(2);
        }
    };
    let mut team = Team::with_options(&options(threads, BarrierForm::Automatic)).expect("threads for a team");
    for barriers in [0_u32, 1000] {
        let time = median(|| team.run(|member| (0..barriers).for_each(|_| member.barrier())));
        println!("a region with {barriers} barriers: {} ns", time.as_nanos());
    }
    // A further team would see only the core that this one has put its caller on.
    drop(team);
    println!("\nmoves of cache lines in a barrier, and how many of them one after the other");
    println!(
        "{:>8} {:>8} {:>16} {:>6} {:>16}",
        "threads", "flat", "one after other", "tree", "one after other"
    );
    for threads in [2, 4, 8, 9, 16, 32, 64, 128] {
        let [flat, tree] = [flat(threads), tree(threads, threads.isqrt())];
        println!(
            "{threads:>8} {:>8.1} {:>16.1} {:>6.1} {:>16.1}",
            flat.moves, flat.span, tree.moves, tree.span
        );
    }
    measure_two_threads();
}

/// Compares the count with this machine, for two threads.
fn measure_two_threads() {
    const BARRIERS: u32 = 1000;
    let move_ns = ns_of_a_move();
    println!("\ntwo threads on this machine, where a line moves in {move_ns:.0} ns");
    println!("{:<32} {:>11} {:>11}", "barrier", "by the count", "measured");
    let forms = [
        ("flat", BarrierForm::Flat, flat(2)),
        ("tree, one group of 2", BarrierForm::Tree { group_size: 2 }, tree(2, 2)),
        ("tree, two groups of 1", BarrierForm::Tree { group_size: 1 }, tree(2, 1)),
    ];
    for (name, form, count) in forms {
        let mut team = Team::with_options(&options(2, form)).expect("threads for a team");
        let time = median(|| team.run(|member| (0..BARRIERS).for_each(|_| member.barrier())));
        let measured_ns = time.as_nanos() as f64 / f64::from(BARRIERS);
        println!("{name:<32} {:>8.0} ns {measured_ns:>8.0} ns", count.span * move_ns);
    }
}

fn options(threads: usize, barrier: BarrierForm) -> TeamOptions {
    TeamOptions { pin_caller: true, barrier, ..TeamOptions::new(threads) }
}

fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<_> = (0..1000)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    (times[(times.len() - 1) / 2] + times[times.len() / 2]) / 2
}

/// Time in which a line moves from one core to the other: half of the way there and back of a number that two threads
/// take turns to count up.
fn ns_of_a_move() -> f64 {
    #[repr(align(128))]
    struct Line(AtomicU64);
    const TURNS: u64 = 1000;
    let line = Line(AtomicU64::new(0));
    let mut team = Team::with_options(&options(2, BarrierForm::Flat)).expect("threads for a team");
    let time = median(|| {
        line.0.store(0, Ordering::Relaxed);
        team.run(|member| {
            for turn in (0..TURNS).filter(|turn| turn % 2 == member.index() as u64) {
                let mut waited = 0_u32;
                while line.0.load(Ordering::Acquire) != turn {
                    waited += 1;
                    // Where both threads have one processor, the other one has to get it.
                    if waited.is_multiple_of(1 << 16) {
                        std::thread::yield_now();
                    }
                }
                line.0.store(turn + 1, Ordering::Release);
            }
        });
    });
    // Each turn moves the line twice: to be read, and to be written, which takes it away from the reader before.
    time.as_nanos() as f64 / (2 * TURNS) as f64
}

/// Cache lines that move in a barrier, and how many of them one after the other until the last thread goes on.
#[derive(Debug, Clone, Copy)]
struct Count {
    moves: f64,
    span: f64,
}

/// A cache line: the cores that have its newest value, and when it can move again.
#[derive(Debug, Clone, Default)]
struct Line {
    holders: BTreeSet<usize>,
    free_at: f64,
}

/// Cores, each at its own time, and the moves of lines so far.
struct Machine {
    now: Vec<f64>,
    moves: f64,
}

impl Machine {
    fn new(cores: usize) -> Self {
        Self { now: vec![0.0; cores], moves: 0.0 }
    }

    fn read(&mut self, core: usize, line: &mut Line) {
        if line.holders.insert(core) {
            self.wait_for(core, line);
        }
    }

    fn write(&mut self, core: usize, line: &mut Line) {
        if line.holders != BTreeSet::from([core]) {
            line.holders = BTreeSet::from([core]);
            self.wait_for(core, line);
        }
    }

    fn wait_for(&mut self, core: usize, line: &mut Line) {
        self.moves += 1.0;
        let done = self.now[core].max(line.free_at) + 1.0;
        (self.now[core], line.free_at) = (done, done);
    }
}

/// Goes through barriers one after the other, and returns the means of the counted ones.
fn count(cores: usize, mut barrier: impl FnMut(&mut Machine)) -> Count {
    let mut sum = Count { moves: 0.0, span: 0.0 };
    let mut machine = Machine::new(cores);
    for number in 0..COUNTED.end {
        let begins = machine.now.iter().copied().fold(0.0, f64::max);
        machine.now.fill(begins);
        let moves_before = machine.moves;
        barrier(&mut machine);
        if COUNTED.contains(&number) {
            let ends = machine.now.iter().copied().fold(0.0, f64::max);
            sum = Count { moves: sum.moves + machine.moves - moves_before, span: sum.span + ends - begins };
        }
    }
    let counted = f64::from(COUNTED.end - COUNTED.start);
    Count { moves: sum.moves / counted, span: sum.span / counted }
}

/// Each thread writes its line and reads all the others.
fn flat(threads: usize) -> Count {
    let mut lines = vec![Line::default(); threads];
    count(threads, |machine| {
        (0..threads).for_each(|core| machine.write(core, &mut lines[core]));
        for core in 0..threads {
            (0..threads)
                .filter(|other| *other != core)
                .for_each(|other| machine.read(core, &mut lines[other]));
        }
    })
}

/// Each thread adds to the counter of its group, the last of a group to the root, the last at the root writes a line of
/// each group, which its members read.
fn tree(threads: usize, group_size: usize) -> Count {
    let groups = threads.div_ceil(group_size);
    let (mut arrived, mut passed) = (vec![Line::default(); groups], vec![Line::default(); groups]);
    let mut root = Line::default();
    count(threads, |machine| {
        let mut last_of_group = vec![0; groups];
        for core in 0..threads {
            machine.write(core, &mut arrived[core / group_size]);
            last_of_group[core / group_size] = core;
        }
        last_of_group.sort_by(|left, right| machine.now[*left].total_cmp(&machine.now[*right]));
        last_of_group.iter().for_each(|core| machine.write(*core, &mut root));
        let last = last_of_group[groups - 1];
        passed.iter_mut().for_each(|line| machine.write(last, line));
        (0..threads).for_each(|core| machine.read(core, &mut passed[core / group_size]));
    })
}
