//! The samples of a query of MultiStream lie side by side in memory, also where it goes on from the last sample of the
//! set to the first.

use proctor_tests::{Bench, PLACES, compile};

#[test]
fn the_samples_of_every_query_lie_side_by_side() {
    let bench = Bench::new();
    let Some(library) = compile("neighbours_plugin.c", &[], bench.path(), "neighbours") else { return };
    // 13 samples are no multiple of the 8 of a query; 5 are fewer than a query has.
    for set_len in [13, 5] {
        for dispatch in ["--set issue=false --batch-size 8", "--set issue=true"] {
            for process in PLACES {
                let run = bench.run(&format!(
                    "--plugin {} --scenario MultiStream --mode performance {dispatch} {process} --set floor=false \
                     --set performance_sample_count_override={set_len} --set warm_up_batches=0 \
                     --set min_query_count=700 --set min_duration_ms=0",
                    library.display()
                ));
                run.assert_valid();
            }
        }
    }
}

#[test]
fn they_lie_side_by_side_in_a_replay_too() {
    let bench = Bench::new();
    let Some(library) = compile("neighbours_plugin.c", &[], bench.path(), "neighbours") else { return };
    let library = library.display();
    for (name, dispatch) in [("batches", "--set issue=false --batch-size 8"), ("queries", "--set issue=true")]
    {
        let recording = bench.file(name);
        let run = bench.run(&format!(
            "--plugin {library} --scenario MultiStream --mode performance {dispatch} --record {} --set floor=false \
             --set performance_sample_count_override=13 --set warm_up_batches=0 --set min_query_count=700 \
             --set min_duration_ms=0",
            recording.display()
        ));
        run.assert_valid();
        let same = bench.host(&format!("replay {} --plugin {library}", recording.display()));
        assert_eq!(same.code(), 0, "{same}");
    }
}
