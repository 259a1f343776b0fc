//! The integration tests of this crate, a module for each subject.

mod digits_reference;
mod fashion_mnist_reference;
