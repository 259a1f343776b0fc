//! The program `host`.

#![forbid(unsafe_code)]

fn main() {
    proctor_host::main(std::env::args_os())
}
