use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Each thread adds up what all wrote in the round before: wrong as soon as one runs ahead or behind.
fn count_together(team: &mut Team, rounds: usize) {
    let threads = team.threads();
    let counts: Vec<_> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
    team.run(|member| {
        for round in 1..=rounds {
            counts[member.index()].fetch_add(1, Ordering::Relaxed);
            member.barrier();
            let sum: usize = counts.iter().map(|count| count.load(Ordering::Relaxed)).sum();
            assert_eq!(sum, round * threads);
            member.barrier();
        }
    });
}

#[test]
fn threads_keep_step_whatever_their_number() {
    for threads in [0, 1, 2, 3, 5, 9, 13] {
        let mut team = Team::new(threads);
        assert_eq!(team.threads(), threads.max(1));
        for rounds in [0, 1, 100] {
            count_together(&mut team, rounds);
        }
    }
}

#[test]
fn some_of_the_threads_may_meet_alone() {
    for threads in [4, 10] {
        let mut team = Team::new(threads);
        let counts: Vec<_> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
        for among in [2, 4, 3, 1, threads] {
            let before: usize = counts[..among].iter().map(|count| count.load(Ordering::Relaxed)).sum();
            team.run(|member| {
                if member.index() >= among {
                    return;
                }
                counts[member.index()].fetch_add(1, Ordering::Relaxed);
                member.barrier_among(among);
                let sum: usize = counts[..among].iter().map(|count| count.load(Ordering::Relaxed)).sum();
                assert_eq!(sum, before + among);
            });
        }
    }
}

/// Threads arrive for barriers to which not all come. In the next region all see at a barrier what each wrote before
/// it, also what the last to come wrote.
#[test]
fn a_thread_that_arrived_too_often_is_not_ahead_in_the_next_region() {
    let mut team = Team::new(3);
    for least in 0..3 {
        for late in 0..3 {
            team.run(|member| {
                for _ in 0..member.index().abs_diff(least) {
                    member.arrive_among(3);
                }
            });
            let written = [0; 3].map(AtomicUsize::new);
            team.run(|member| {
                if member.index() == late {
                    // Long enough for the others to run ahead if they can; a shorter time fails nothing.
                    std::thread::sleep(Duration::from_millis(20));
                }
                written[member.index()].store(1, Ordering::Relaxed);
                member.barrier();
                let seen: usize = written.iter().map(|word| word.load(Ordering::Relaxed)).sum();
                assert_eq!(seen, 3, "thread {} did not wait for thread {late}", member.index());
            });
        }
    }
}

#[test]
fn helpers_that_sleep_at_once_are_woken() {
    let mut team = Team::with_options(&TeamOptions { spin: Duration::ZERO, ..TeamOptions::new(3) }).unwrap();
    for _ in 0..200 {
        count_together(&mut team, 1);
    }
}

#[test]
fn two_teams_on_the_same_core_get_on() {
    let core = TeamOptions::new(1);
    let cores = chosen_cores(&core, 1);
    let run = |options: &TeamOptions| {
        let mut team = Team::with_options(options).unwrap();
        count_together(&mut team, 50);
    };
    let options = TeamOptions { cores, pin_caller: true, ..TeamOptions::new(2) };
    std::thread::scope(|scope| {
        scope.spawn(|| run(&options));
        scope.spawn(|| run(&options));
    });
}

#[test]
fn a_panic_on_any_thread_ends_the_region_with_it_and_the_team_goes_on() {
    for threads in [3, 9] {
        let mut team = Team::new(threads);
        for culprit in 0..threads {
            let run = AssertUnwindSafe(|| {
                team.run(|member| {
                    assert!(member.index() != culprit, "thread {culprit} gives up");
                    member.barrier();
                });
            });
            let payload = catch_unwind(run).unwrap_err();
            assert_eq!(payload.downcast_ref::<String>(), Some(&format!("thread {culprit} gives up")));
            count_together(&mut team, 3);
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_pinned_caller_runs_on_the_chosen_core_until_the_team_is_dropped() {
    let before = allowed_cores();
    let mut team = Team::with_options(&TeamOptions { pin_caller: true, ..TeamOptions::new(2) }).unwrap();
    let seen = Mutex::new(vec![Vec::new(); 2]);
    team.run(|member| {
        seen.lock().unwrap()[member.index()] = allowed_cores();
    });
    let chosen = [0, 1].map(|thread| team.core_of(thread).unwrap());
    assert_eq!(*seen.lock().unwrap(), chosen.map(|core| vec![core]));
    drop(team);
    assert_eq!(allowed_cores(), before);
}

#[test]
fn whoever_waits_without_a_barrier_hears_of_a_panic() {
    let mut team = Team::new(2);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        team.run(|member| {
            assert!(member.index() == 0, "the helper");
            loop {
                member.check();
                std::thread::yield_now();
            }
        });
    }));
    assert!(outcome.is_err());
    count_together(&mut team, 3);
    team.run(|member| member.check());
}
