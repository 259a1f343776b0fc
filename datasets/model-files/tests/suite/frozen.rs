//! Frozen graphs, read. Their bytes are written here field by field.

use proctor_model_files::{Attribute, Constant, Graph, GraphError, Node, Values};

/// Writes a field with a text, bytes or a message.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2][..], &varint(bytes.len() as u64), bytes].concat()
}

fn int(number: u8, value: u64) -> Vec<u8> {
    [&[number << 3][..], &varint(value)].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn node(name: &str, operator: &str, inputs: &[&str], attributes: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut node = [field(1, name.as_bytes()), field(2, operator.as_bytes())].concat();
    inputs.iter().for_each(|input| node.extend(field(3, input.as_bytes())));
    for (key, value) in attributes {
        node.extend(field(5, &[field(1, key.as_bytes()), field(2, value)].concat()));
    }
    field(1, &node)
}

/// Writes a constant of a type and a shape with these further fields.
fn constant(data_type: u64, dims: &[u64], fields: &[u8]) -> Vec<u8> {
    let dims: Vec<u8> = dims.iter().flat_map(|extent| field(2, &int(1, *extent))).collect();
    let tensor = [int(1, data_type), field(2, &dims), fields.to_vec()].concat();
    node("c", "Const", &[], &[("value", field(8, &tensor)), ("dtype", int(6, data_type))])
}

fn read(data_type: u64, dims: &[u64], fields: &[u8]) -> Result<Constant, GraphError> {
    let graph = Graph::frozen(&constant(data_type, dims, fields))?;
    match &graph.nodes()[0].attributes["value"] {
        Attribute::Constant(constant) => Ok(constant.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn nodes_have_their_inputs_and_parameters() {
    let strides = field(1, &field(3, &[1, 2, 2, 1]));
    let attributes = [
        ("strides", strides),
        ("padding", field(2, b"SAME")),
        ("axis", int(3, u64::MAX)),
        ("epsilon", [&[4 << 3 | 5][..], &0.5_f32.to_le_bytes()].concat()),
        ("is_training", int(5, 1)),
        ("T", int(6, 1)),
    ];
    let file =
        [node("x", "Placeholder", &[], &[]), node("y", "Conv2D", &["x:1", "^x"], &attributes)].concat();
    let graph = Graph::frozen(&file).unwrap();
    let wanted = [
        ("T", Attribute::Other),
        ("axis", Attribute::Int(-1)),
        ("epsilon", Attribute::Float(0.5)),
        ("is_training", Attribute::Flag(true)),
        ("padding", Attribute::Text("SAME".to_owned())),
        ("strides", Attribute::Ints(vec![1, 2, 2, 1])),
    ];
    let wanted = Node {
        name: "y".to_owned(),
        operator: "Conv2D".to_owned(),
        inputs: vec!["x:1".to_owned(), "^x".to_owned()],
        attributes: wanted.map(|(key, value)| (key.to_owned(), value)).into(),
    };
    assert_eq!((graph.place("y"), &graph.nodes()[1]), (Some(1), &wanted));
}

#[test]
fn constants_are_read_from_every_place() {
    let reals = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let values = |data_type, dims: &[u64], fields: &[u8]| read(data_type, dims, fields).unwrap().values;
    assert_eq!(values(1, &[2, 1], &field(4, &reals(&[1.5, -2.0]))), Values::Reals(vec![1.5, -2.0]));
    assert_eq!(values(1, &[2], &field(5, &reals(&[1.5, -2.0]))), Values::Reals(vec![1.5, -2.0]));
    assert_eq!(values(19, &[2], &field(4, &[0x00, 0x3c, 0x00, 0xc0])), Values::Reals(vec![1.0, -2.0]));
    assert_eq!(values(19, &[1], &field(13, &varint(0xc000))), Values::Reals(vec![-2.0]));
    assert_eq!(values(3, &[2], &field(4, &[7, 0, 0, 0, 0xff, 0xff, 0xff, 0xff])), Values::Ints(vec![7, -1]));
    assert_eq!(values(3, &[2], &field(7, &[7, 9])), Values::Ints(vec![7, 9]));
    assert_eq!(values(9, &[], &field(4, &(-3_i64).to_le_bytes())), Values::Ints(vec![-3]));
    assert_eq!(values(9, &[1], &field(10, &[5])), Values::Ints(vec![5]));
    assert_eq!(values(10, &[2], &field(4, &[0, 1])), Values::Ints(vec![0, 1]));
    assert_eq!(values(10, &[1], &field(11, &[1])), Values::Ints(vec![1]));
    // A text is of no use here, and no reason to refuse the graph.
    assert_eq!(values(7, &[], &field(8, b"text")), Values::Other(7));
}

#[test]
fn missing_values_are_like_the_last_one_and_not_without_end() {
    let one = field(5, &1.5_f32.to_le_bytes());
    assert_eq!(read(1, &[2, 2], &one).unwrap().values, Values::Reals(vec![1.5; 4]));
    assert_eq!(read(3, &[3], &[]).unwrap().values, Values::Ints(vec![0; 3]));
    assert!(matches!(read(1, &[1 << 20, 5], &one), Err(GraphError::Repeats { .. })));
    let names = ["a", "b", "c", "d", "e"];
    let file: Vec<u8> = names
        .iter()
        .flat_map(|name| {
            let tensor = [int(1, 1), field(2, &field(2, &int(1, 1 << 20))), one.clone()].concat();
            node(name, "Const", &[], &[("value", field(8, &tensor))])
        })
        .collect();
    assert!(matches!(Graph::frozen(&file), Err(GraphError::Repeats { .. })));
}

#[test]
fn constants_of_another_size_are_refused_by_name() {
    let message = |dims: &[u64], fields: &[u8]| read(1, dims, fields).unwrap_err().to_string();
    assert_eq!(message(&[1], &field(4, &[0; 8])), "constant \"c\" has 2 values, but the shape [1] has 1");
    assert_eq!(message(&[u64::MAX], &[]), "constant \"c\" has the shape [-1]");
    let large = i64::MAX as u64;
    assert_eq!(message(&[large, 4, 0], &[]), format!("constant \"c\" has the shape [{large}, 4, 0]"));
}

#[test]
fn files_that_are_no_graphs_are_refused() {
    assert!(matches!(Graph::frozen(b""), Err(GraphError::Empty)));
    assert!(matches!(Graph::frozen(b"<html>"), Err(GraphError::NotFrozen(_))));
    let file = constant(1, &[2], &field(4, &[0; 8]));
    for length in 1..file.len() {
        assert!(Graph::frozen(&file[..length]).is_err(), "{length}");
    }
    let twice = [node("x", "Relu", &[], &[]), node("x", "Relu", &[], &[])].concat();
    assert!(matches!(Graph::frozen(&twice), Err(GraphError::TwoNodes(name)) if name == "x"));
}
