//! Memory: a batch like one before allocates nothing, so no step of a decoder does.

use proctor_rnn_layer::Precision;
use proctor_rnn_models::nets::networks;

use super::common::{batch, load, team};

#[test]
fn a_second_batch_allocates_nothing() {
    for network in networks().iter().filter(|network| network.id.ends_with("-tiny")) {
        let mut instance = load(network.id, Precision::F32, 3).instance(team()).unwrap();
        let mut samples = batch(network.id, 0..3);
        instance.execute(&mut samples).unwrap();
        let counted = allocation_counter::measure(|| instance.execute(&mut samples).unwrap());
        assert_eq!(counted.count_total, 0, "{}", network.id);
    }
}
