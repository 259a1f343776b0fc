//! Prints what a parallel region and a barrier cost on a team: `barrier THREADS`.

use std::time::Instant;

use proctor_rnn_engine::{Team, TeamOptions};

fn main() {
    let threads = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(2);
    let mut team = Team::with_options(&TeamOptions { pin_caller: true, ..TeamOptions::new(threads) })
        .expect("threads for a team");
    for barriers in [0_u32, 1000] {
        let mut times: Vec<_> = (0..1000)
            .map(|_| {
                let start = Instant::now();
                team.run(|member| (0..barriers).for_each(|_| member.barrier()));
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        let median_ns = times[times.len() / 2].as_nanos();
        println!("a region with {barriers} barriers: {median_ns} ns");
    }
}
