//! Checkpoints that want more than a table of tensors.

use proctor_model_files::{Checkpoint, TorchError};

use crate::pickles::{Saved, global, old_around, pickle, tensor, text, zip_around};

/// Wraps instructions as the value of a table with one key, in both forms of a file.
fn files_with(instructions: &[u8]) -> [Vec<u8>; 2] {
    let table = pickle(&[b"}", &text("x")[..], instructions, b"s"].concat());
    [old_around(&table, &[]), zip_around(&table, &[])]
}

fn refusal(instructions: &[u8]) -> TorchError {
    let [old, zip] = files_with(instructions).map(|file| Checkpoint::parse(&file).unwrap_err());
    assert_eq!(old, zip);
    old
}

#[test]
fn whatever_is_called_is_refused_by_its_name() {
    let call =
        |module: &str, name: &str| [&global(module, name)[..], &text("touch /tmp/owned"), b"\x85R"].concat();
    for (module, name) in [
        ("os", "system"),
        ("posix", "system"),
        ("builtins", "eval"),
        ("builtins", "exec"),
        ("__builtin__", "getattr"),
        ("subprocess", "Popen"),
        ("torch", "load"),
        ("torch.hub", "load"),
        ("torch.storage", "_load_from_bytes"),
        ("collections", "namedtuple"),
        ("collections.OrderedDict", "x"),
        ("numpy.core.multiarray", "_reconstruct"),
    ] {
        let wanted = TorchError::Refused { module: module.to_owned(), name: name.to_owned() };
        assert_eq!(refusal(&call(module, name)), wanted);
        // The names as texts of the stack, and as the class of an object.
        assert_eq!(refusal(&[&text(module)[..], &text(name), b"\x93"].concat()), wanted);
        assert_eq!(refusal(format!("(i{module}\n{name}\n").as_bytes()), wanted);
        let message = wanted.to_string();
        assert!(
            message.starts_with(&format!("the checkpoint wants {module}.{name}, which is refused")),
            "{message}"
        );
    }
}

#[test]
fn a_name_in_any_of_the_pickles_is_refused() {
    let system = pickle(&global("os", "system"));
    let tensors = [Saved::of_f32("x", &[1], &[1.0])];
    let file = old_around(&crate::pickles::table(&tensors, b"N"), &tensors);
    let wanted = TorchError::Refused { module: "os".to_owned(), name: "system".to_owned() };
    // Each pickle of the old form begins with the version 2.
    let starts: Vec<usize> = (0..file.len() - 1).filter(|at| file[*at..].starts_with(b"\x80\x02")).collect();
    assert_eq!(starts.len(), 5);
    for start in starts {
        let changed = [&file[..start], &system].concat();
        assert_eq!(Checkpoint::parse(&changed).unwrap_err(), wanted, "at byte {start}");
    }
}

#[test]
fn instructions_that_make_objects_are_refused_by_their_number() {
    let dict = global("collections", "OrderedDict");
    for (instruction, opcode) in [
        (&b")\x81"[..], 0x81),
        (b")}\x92", 0x92),
        (b"\x82\x01", 0x82),
        (b"P1\n", b'P'),
        (b"I1\n", b'I'),
        (b"S'x'\n", b'S'),
        (b"\x97", 0x97),
        (b"\xff", 0xff),
    ] {
        let error = refusal(&[&dict[..], instruction].concat());
        assert!(matches!(error, TorchError::Opcode { opcode: got, .. } if got == opcode), "{error}");
    }
    assert!(matches!(refusal(&[b"(", &dict[..], b"o"].concat()), TorchError::Opcode { opcode: b'o', .. }));
}

#[test]
fn known_names_make_nothing_but_tables_and_tensors() {
    let saved = Saved::of_f32("x", &[1], &[1.0]);
    let whole = tensor(&saved, 0, b"N");
    for instructions in [
        // A storage of another type, a dict of arguments, a tensor of a dict, a state of a tensor, a call of a type.
        [
            &b"("[..],
            &text("storage"),
            &global("collections", "OrderedDict"),
            &text("0"),
            &text("cpu"),
            b"K\x01tQ",
        ]
        .concat(),
        [&global("collections", "OrderedDict")[..], b"(K\x01K\x02ltR"].concat(),
        [&global("collections", "OrderedDict")[..], b"K\x01\x85R"].concat(),
        [&global("torch._utils", "_rebuild_tensor_v2")[..], b"}\x85R"].concat(),
        [&global("torch._utils", "_rebuild_parameter")[..], b"}\x85R"].concat(),
        [&whole[..], b"}b"].concat(),
        [&global("torch", "FloatStorage")[..], b")R"].concat(),
    ] {
        let error = refusal(&instructions);
        assert!(matches!(error, TorchError::Damaged { .. } | TorchError::Opcode { .. }), "{error}");
    }
}

#[test]
fn only_tables_are_taken() {
    for (instructions, what) in [(&b"]"[..], "a list"), (b")", "a list"), (b"K\x01", "a single value")] {
        let file = old_around(&pickle(instructions), &[]);
        assert_eq!(
            Checkpoint::parse(&file).unwrap_err().to_string(),
            format!("the checkpoint holds {what}, not a table of tensors; save the state_dict alone")
        );
    }
    let error = refusal(b"K\x01");
    assert_eq!(error.to_string(), "tensor \"x\" of the checkpoint is no tensor");
}

#[test]
fn a_table_that_holds_itself_does_no_harm() {
    // The dict is its own value.
    let table = pickle(&[b"}q\x00", &text("x")[..], b"h\x00s"].concat());
    assert!(Checkpoint::parse(&old_around(&table, &[])).is_err());
}

#[test]
fn other_files_are_named() {
    let message = |bytes: &[u8]| Checkpoint::parse(bytes).unwrap_err().to_string();
    assert!(message(b"").starts_with("it is not a checkpoint of PyTorch"));
    assert!(message(b"<!DOCTYPE html><html>").starts_with("it is not a checkpoint of PyTorch"));
    assert!(message(&pickle(b"K\x01")).contains("a pickle without PyTorch's marks"));
    let empty = zip_around(b"", &[]);
    assert!(message(&empty).contains("cut short"), "{}", message(&empty));
}
