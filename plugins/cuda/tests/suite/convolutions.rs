//! Convolutions by cuDNN as the host computes them, over the double of NVIDIA's libraries: no GPU is needed.

use std::{env, process::Command};

use cuda_sut::{Compiler, ConvolutionLibrary, Cuda, Libraries, OpenError, devices};
use proctor_device::{program::Tuning, session::ComputedBy};
use proctor_device_cases::{Case, drawn, operators};
use proctor_plugin_api::{Host, vocabulary::ElementType};
use proctor_test_needs::{name_of, skip};

/// Variable that names the test of a process.
const TEST: &str = "OVER_DOUBLE_TEST";

/// Calls `body` with a device of the double in a process of its own, which finds its libraries, and asserts that the
/// double has named no mistake.
fn over_double<T>(test: T, variables: &[(&str, &str)], body: impl FnOnce(&Cuda)) {
    let test = name_of(test);
    if env::var(TEST).is_ok_and(|name| name == test) {
        let devices = match devices() {
            // PoCL, which the double computes with.
            Err(OpenError::Failed(error)) if error.code == 304 => return skip(error),
            devices => devices.unwrap(),
        };
        let convolutions = ConvolutionLibrary::load(None, None, false).unwrap();
        let libraries = Libraries { products: None, convolutions: Some(convolutions) };
        let compiler = Compiler::load(None, None).unwrap();
        return body(&Cuda::open(Host::detached(), &devices[0], compiler, &libraries).unwrap());
    }
    let folder = tempfile::tempdir().unwrap();
    cuda_double::lay_out(folder.path()).unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(TEST, test).env("LD_LIBRARY_PATH", folder.path());
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && !stderr.contains("cuda double: "), "{test}:\n{stdout}{stderr}");
    assert!(stdout.contains(" 1 passed"), "no test {test}:\n{stdout}{stderr}");
    if let Some(reason) = stdout.lines().find_map(|line| line.strip_prefix(proctor_test_needs::SKIPPED)) {
        skip(reason);
    }
}

/// The calls of a case that cuDNN computes.
fn count_by_library(device: &Cuda, cases: &[Case]) -> usize {
    let calls = cases.iter().flat_map(|case| case.computed_by(device, Tuning::GPU).unwrap());
    calls.filter(|by| *by == ComputedBy::ConvolutionLibrary).count()
}

#[test]
fn drawn_convolutions_are_as_the_host_computes_them() {
    over_double(drawn_convolutions_are_as_the_host_computes_them, &[], |device| {
        let operator = drawn::PRODUCTS.iter().find(|operator| operator.name == "Conv").unwrap();
        let cases: Vec<Case> = (0..60).map(|seed| operator.draw(seed).case()).collect();
        cases.iter().for_each(|case| case.check(device, &[Tuning::GPU]));
        let by_library = count_by_library(device, &cases);
        assert!((20..60).contains(&by_library), "{by_library} of {} by the library", cases.len());
    });
}

#[test]
fn ends_and_places_are_as_the_host_computes_them() {
    over_double(ends_and_places_are_as_the_host_computes_them, &[], |device| {
        let ended = operators::convolutions_with_ends();
        assert!(count_by_library(device, &ended) >= ended.len());
        for cases in [ended, operators::convolutions_of_parts(), operators::windows(), operators::depthwise()]
        {
            cases.iter().for_each(|case| case.check(device, &[Tuning::GPU]));
        }
    });
}

#[test]
fn halves_are_rounded_once() {
    over_double(halves_are_rounded_once, &[], |device| {
        for case in operators::convolutions_with_ends() {
            case.check_narrow(device, &[Tuning::GPU], ElementType::F16, 2e-3);
            case.check_narrow(device, &[Tuning::GPU], ElementType::Bf16, 2e-2);
        }
    });
}

#[test]
fn what_the_library_refuses_is_computed_by_kernels() {
    let variables = [("CUDA_DOUBLE_CONVOLUTIONS", "2")];
    over_double(what_the_library_refuses_is_computed_by_kernels, &variables, |device| {
        let cases = operators::convolutions_with_ends();
        cases.iter().for_each(|case| case.check(device, &[Tuning::GPU]));
        assert_eq!(count_by_library(device, &cases), 0);
    });
}

/// Cases of the first tier: a convolution with every possible epilogue, in f32 and in f16.
mod few {
    use super::{Cuda, ElementType, Tuning, count_by_library, operators, over_double};
    use proctor_device_cases::named;

    #[test]
    fn a_convolution_with_an_end_is_as_the_host_computes_it() {
        let test = a_convolution_with_an_end_is_as_the_host_computes_it;
        over_double(test, &[], |device: &Cuda| {
            let ended = named(&operators::convolutions_with_ends(), &["bias, residual and Relu"]);
            assert!(count_by_library(device, &ended) >= ended.len());
            for case in ended {
                case.check(device, &[Tuning::GPU]);
                case.check_narrow(device, &[Tuning::GPU], ElementType::F16, 2e-3);
            }
        });
    }
}
