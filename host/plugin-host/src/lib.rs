//! Finds, loads, negotiates, checks and guards a plugin: the host's only unsafe code.
