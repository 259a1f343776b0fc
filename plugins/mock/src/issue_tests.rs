//! Tests of the queue and its orders.

use proctor_plugin_api::{
    Host, Model, ModelRequest, Plugin, abi,
    vocabulary::{ElementType, Intent, ResponseId, SampleIndex, Scenario, TensorSpec},
};
use proptest::prelude::*;

use super::*;
use crate::{
    model::MockModel,
    plugin::{Mock, tests::options},
};

fn samples(count: u64) -> Vec<QuerySample> {
    (0..count).map(|n| QuerySample { id: ResponseId(n + 1), index: SampleIndex(n) }).collect()
}

/// The order in which one thread takes samples that all wait.
fn order_of(order: Order, count: u64) -> Vec<u64> {
    let queue = Queue::new(order, 1000);
    queue.push(samples(count).into_iter()).unwrap();
    queue.close();
    std::iter::from_fn(|| queue.take().map(|taken| taken.waiting.sample.index.0)).collect()
}

fn model(given: &[(&str, &str)]) -> MockModel {
    let mock = Mock::open(Host::detached(), &options(given)).unwrap();
    let output = TensorSpec { name: "logits".into(), element_type: ElementType::F32, shape: vec![10] };
    let request = ModelRequest {
        model: "any".into(),
        precision: "f32".into(),
        device: "cpu".into(),
        files: Vec::new(),
        inputs: Vec::new(),
        outputs: vec![output],
        scenario: Scenario::Server,
        batch_size_max: 1,
        instance_count: 1,
        last_output_varies: false,
        inputs_vary: false,
        intent: Intent::default(),
        placements: Vec::new(),
    };
    mock.load_model(&request).unwrap()
}

#[test]
fn fifo_keeps_the_order() {
    assert_eq!(order_of(Order::Fifo, 50), (0..50).collect::<Vec<_>>());
}

proptest! {
    #[test]
    fn shuffled_is_a_permutation_within_the_window(seed: u64, window in 2_usize..20, count in 0_u64..200) {
        let shuffled = order_of(Order::Shuffled { seed, window }, count);
        // No sample is taken before it is among the `window` oldest.
        for (position, index) in shuffled.iter().enumerate() {
            prop_assert!(usize::try_from(*index).unwrap() < position + window);
        }
        prop_assert_eq!(&shuffled, &order_of(Order::Shuffled { seed, window }, count));
        let mut sorted = shuffled;
        sorted.sort_unstable();
        prop_assert_eq!(sorted, (0..count).collect::<Vec<_>>());
    }
}

#[test]
fn shuffled_does_shuffle() {
    let shuffled = |seed| order_of(Order::Shuffled { seed, window: 16 }, 100);
    assert_ne!(shuffled(1), order_of(Order::Fifo, 100));
    assert_ne!(shuffled(1), shuffled(2));
}

#[test]
fn service_times_follow_the_order_of_issue() {
    let queue = Queue::new(Order::Shuffled { seed: 1, window: 8 }, 20);
    queue.push(samples(10).into_iter()).unwrap();
    queue.push(samples(20).into_iter().skip(10)).unwrap();
    queue.close();
    let mut expected = Draw::of_issue();
    let expected: Vec<Draw> = (0..20).map(|_| expected.advance()).collect();
    while let Some(taken) = queue.take() {
        let index = usize::try_from(taken.waiting.sample.index.0).unwrap();
        assert_eq!(taken.waiting.draw, expected[index]);
    }
}

#[test]
fn a_full_queue_says_busy_and_takes_none_of_the_query() {
    let queue = Queue::new(Order::Fifo, 5);
    queue.push(samples(3).into_iter()).unwrap();
    assert_eq!(queue.push(samples(3).into_iter()).unwrap_err().status, abi::PROCTOR_STATUS_BUSY);
    assert_eq!(queue.state.lock().waiting.len(), 3);
    queue.push(samples(2).into_iter()).unwrap();
}

#[test]
fn queries_need_a_start_and_the_model_may_start_again() {
    let model = model(&[("threads", "2")]);
    assert_eq!(model.issue(samples(1)[..].into()).unwrap_err().status, abi::PROCTOR_STATUS_WRONG_STATE);
    for _ in 0..2 {
        model.start().unwrap();
        model.issue(samples(10)[..].into()).unwrap();
        model.flush();
        model.stop().unwrap();
        assert!(model.issue(samples(1)[..].into()).is_err());
    }
}

#[test]
fn dropping_a_model_ends_its_threads() {
    let model = model(&[("threads", "3"), ("order", "shuffled")]);
    model.start().unwrap();
    model.issue(samples(100)[..].into()).unwrap();
    let IssuePath::Threads { pool, .. } = &model.issue else { panic!("there are threads") };
    let queue = Arc::clone(&pool.lock().as_ref().unwrap().queue);
    drop(model);
    // Only this test still knows the queue, and nothing was left in it.
    assert_eq!(Arc::strong_count(&queue), 1);
    assert!(queue.state.lock().waiting.is_empty());
}
