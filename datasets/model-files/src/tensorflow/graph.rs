//! The nodes of a graph, whichever file they come from.

use std::collections::HashMap;

use super::{
    constant::Constant,
    error::GraphError,
    frozen, graph_model,
    node::{Attribute, Node},
};

/// A graph whose nodes name each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    nodes: Vec<Node>,
    places: HashMap<String, usize>,
}

impl Graph {
    /// Reads a frozen graph, a file with the suffix `.pb`.
    ///
    /// # Errors
    /// Returns a [`GraphError`].
    pub fn frozen(data: &[u8]) -> Result<Self, GraphError> {
        Self::of_nodes(frozen::nodes(data)?)
    }

    /// Reads a graph model of TensorFlow.js: the file `model.json`, and the shards in the order of its manifest.
    ///
    /// # Errors
    /// Returns a [`GraphError`].
    pub fn of_graph_model(model_json: &[u8], shards: &[Vec<u8>]) -> Result<Self, GraphError> {
        Self::of_nodes(graph_model::nodes(model_json, shards)?)
    }

    pub(crate) fn of_nodes(nodes: Vec<Node>) -> Result<Self, GraphError> {
        if nodes.is_empty() {
            return Err(GraphError::Empty);
        }
        let mut places = HashMap::new();
        for (place, node) in nodes.iter().enumerate() {
            if places.insert(node.name.clone(), place).is_some() {
                return Err(GraphError::TwoNodes(node.name.clone()));
            }
        }
        Ok(Self { nodes, places })
    }

    /// Makes a node a constant, such as the flag that says whether the graph is trained or used.
    ///
    /// # Errors
    /// Returns [`GraphError::NoNode`].
    pub fn with_constant(mut self, node: &str, constant: Constant) -> Result<Self, GraphError> {
        let place = self.place(node).ok_or_else(|| GraphError::NoNode(node.to_owned()))?;
        self.nodes[place] = Node {
            name: node.to_owned(),
            operator: "Const".to_owned(),
            inputs: Vec::new(),
            attributes: [("value".to_owned(), Attribute::Constant(constant))].into(),
        };
        Ok(self)
    }

    /// Returns the nodes in the order of the file.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the place of a node among [`nodes`](Self::nodes).
    #[must_use]
    pub fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }
}
