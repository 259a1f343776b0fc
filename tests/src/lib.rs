//! End-to-end tests of the host program and the conformance suite for plugins.
