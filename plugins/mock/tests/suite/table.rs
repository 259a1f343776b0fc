//! The plugin through its C table, as a host drives it.

use std::path::PathBuf;

use crate::host::{Answer, CLASSES, TestHost};

/// A small file that the test package carries.
fn golden(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    path.into_os_string().into_string().unwrap()
}

/// The class that an answer says.
fn class((_, status, bytes): &Answer) -> usize {
    assert_eq!((*status, bytes.len()), (0, 4 * CLASSES));
    bytes.chunks(4).position(|logit| logit == 1.0_f32.to_ne_bytes()).unwrap()
}

fn ids(answers: &[Answer]) -> Vec<u64> {
    answers.iter().map(|(id, ..)| *id).collect()
}

#[test]
fn execute_answers_every_sample_of_a_batch() {
    let host = TestHost::open(&[("answers", "file"), ("answer_file", &golden("answers.txt"))]).unwrap();
    let answers = host.instance(0).execute(&[2, 0, 1]).unwrap();
    assert_eq!(answers.iter().map(class).collect::<Vec<_>>(), [4, 7, 0]);
}

#[test]
fn a_sample_without_an_answer_fails_alone_and_is_refused_beforehand() {
    let host = TestHost::open(&[("answers", "file"), ("answer_file", &golden("answers.txt"))]).unwrap();
    assert!(host.prepare(3).is_ok());
    assert!(host.prepare(4).unwrap_err().contains("no line for sample 4"));
    let answers = host.instance(0).execute(&[0, 4]).unwrap();
    assert_eq!(class(&answers[0]), 7);
    assert_eq!(answers[1].1, 1);
}

#[test]
fn virtual_time_follows_the_table() {
    let host = TestHost::open(&[("service", "table"), ("table", &golden("latency.csv"))]).unwrap();
    let mut instance = host.instance(0);
    let mut time_ns = |samples: &[u64], busy| instance.execute_virtual(samples, busy).0;
    assert_eq!(time_ns(&[0], 1), 800_000);
    assert_eq!(time_ns(&[0], 2), 900_000);
    assert_eq!(time_ns(&[0; 8], 3), 3_350_000);
    assert_eq!(time_ns(&[0, 1], 1), 985_714);
    assert_eq!(time_ns(&[0; 9], 1), 2_100_000);
}

#[test]
fn virtual_time_does_not_depend_on_other_instances_or_warm_up() {
    let draws = |warm_up: bool, order: [u32; 4]| {
        let host = TestHost::open(&[("service", "log-normal"), ("seed", "11")]).unwrap();
        let mut instances = [host.instance(0), host.instance(1)];
        if warm_up {
            instances[0].warm_up(&[0]);
        }
        let mut draws = [Vec::new(), Vec::new()];
        for instance in order.map(|instance| usize::try_from(instance).unwrap()) {
            let (time_ns, answers) = instances[instance].execute_virtual(&[5], 2);
            assert_eq!(class(&answers[0]), 0);
            draws[instance].push(time_ns);
        }
        draws
    };
    let expected = draws(false, [0, 1, 0, 1]);
    assert_ne!(expected[0], expected[1]);
    assert_ne!(expected[0][0], expected[0][1]);
    assert_eq!(draws(true, [1, 1, 0, 0]), expected);
}

#[test]
fn issued_samples_are_each_completed_once_with_their_answers() {
    for (threads, order) in [("0", "fifo"), ("1", "fifo"), ("1", "shuffled"), ("3", "shuffled")] {
        let options = [("threads", threads), ("order", order), ("answers", "random"), ("seed", "5")];
        let host = TestHost::open(&options).unwrap();
        let answers = host.issue(100);
        let mut sorted = ids(&answers);
        sorted.sort_unstable();
        assert_eq!(sorted, (1..=100).collect::<Vec<_>>(), "{threads} threads, {order}");
        if order == "fifo" {
            assert_eq!(ids(&answers), sorted);
        }
        // The answer to a sample is the same whichever way it is asked for.
        let mut instance = host.instance(0);
        for (id, status, bytes) in answers {
            let executed = instance.execute(&[id - 1]).unwrap();
            assert_eq!(executed, [(id, status, bytes)]);
        }
    }
}

#[test]
fn a_model_can_be_started_again() {
    let host =
        TestHost::open(&[("service", "uniform"), ("service_max_us", "500"), ("threads", "2")]).unwrap();
    for _ in 0..2 {
        assert_eq!(host.issue(7).len(), 7);
    }
}

#[test]
fn a_bad_file_is_refused_with_file_and_line() {
    let open = |options: &[(&str, &str)]| TestHost::open(options).err().unwrap();
    let message = open(&[("service", "table"), ("table", &golden("answers.txt"))]);
    assert!(message.contains("answers.txt, line 1: no number of instances"), "{message}");
    let message = open(&[("answers", "file"), ("answer_file", &golden("latency.csv"))]);
    assert!(message.contains("latency.csv, line 1: \"batch,1,2,4\" is not a class"), "{message}");
}
