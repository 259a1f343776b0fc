//! The operator of a node.

use crate::proto::NodeProto;

/// Returns the domain of an operator, empty for ONNX's own, which has two names.
#[must_use]
pub fn domain(name: Option<&str>) -> &str {
    match name {
        None | Some("ai.onnx") => "",
        Some(name) => name,
    }
}

/// Describes a node in messages: its operator, and its name, or its number in the graph if it has none.
#[must_use]
pub fn label(node: &NodeProto, index: usize) -> String {
    let operator = node.op_type.as_deref().unwrap_or("");
    let domain = match domain(node.domain.as_deref()) {
        "" => String::new(),
        domain => format!("{domain}."),
    };
    match node.name.as_deref().unwrap_or("") {
        "" => format!("{domain}{operator} (node {index})"),
        name => format!("{domain}{operator} \"{name}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_names_the_operator_and_the_node() {
        let node = |domain: &str, name: &str| NodeProto {
            op_type: Some("Relu".to_owned()),
            domain: Some(domain.to_owned()),
            name: Some(name.to_owned()),
            ..NodeProto::default()
        };
        assert_eq!(label(&node("", "first"), 3), "Relu \"first\"");
        assert_eq!(label(&node("ai.onnx", ""), 3), "Relu (node 3)");
        assert_eq!(label(&node("com.example", "it"), 3), "com.example.Relu \"it\"");
    }
}
