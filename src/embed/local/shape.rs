//! What kind of model a folder holds, and whether `forward.rs` can run it.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::super::ConnectError;

/// The sizes of a BERT encoder, as `config.json` states them.
#[derive(Debug, Clone, Deserialize)]
pub struct Shape {
    model_type: String,
    hidden_act: String,
    #[serde(default = "absolute")]
    position_embedding_type: String,
    /// The numbers in a vector between two layers, and in the embedding.
    pub hidden_size: usize,
    /// The numbers in a vector inside a layer's feed-forward part.
    pub intermediate_size: usize,
    /// The heads of an attention.
    #[serde(rename = "num_attention_heads")]
    pub heads: usize,
    /// The layers.
    #[serde(rename = "num_hidden_layers")]
    pub layers: usize,
    /// The tokens a text can have at most.
    #[serde(rename = "max_position_embeddings")]
    pub positions: usize,
    /// The tokens of the vocabulary.
    pub vocab_size: usize,
    /// What keeps a normalisation from dividing by zero.
    pub layer_norm_eps: f32,
}

#[derive(Deserialize)]
struct Pooling {
    pooling_mode_mean_tokens: bool,
}

impl Shape {
    /// The shape of the model in `folder`, refused if it is not of the one architecture there is code for.
    pub fn read(folder: &Path) -> Result<Self, ConnectError> {
        let path = folder.join("config.json");
        let shape: Self = read_json(&path)?;
        shape.check().map_err(|reason| ConnectError::Model { path, reason: reason.to_owned() })?;

        let path = folder.join("1_Pooling").join("config.json");
        if path.exists() && !read_json::<Pooling>(&path)?.pooling_mode_mean_tokens {
            return Err(ConnectError::Model {
                path,
                reason: "the pooling must be the mean of the tokens".into(),
            });
        }
        Ok(shape)
    }

    /// The numbers a head works on.
    pub fn head_size(&self) -> usize {
        self.hidden_size / self.heads
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.model_type != "bert"
            || self.hidden_act != "gelu"
            || self.position_embedding_type != "absolute"
        {
            return Err("only BERT with GELU and absolute positions can be run");
        }
        let sizes = [self.hidden_size, self.intermediate_size, self.heads, self.layers, self.vocab_size];
        if sizes.contains(&0) || self.positions < 2 || !self.hidden_size.is_multiple_of(self.heads) {
            return Err("the sizes do not fit together");
        }
        Ok(())
    }
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, ConnectError> {
    let bytes = read_file(path)?;
    serde_json::from_slice(&bytes)
        .map_err(|error| ConnectError::Model { path: path.to_owned(), reason: error.to_string() })
}

fn read_file(path: &Path) -> Result<Vec<u8>, ConnectError> {
    std::fs::read(path).map_err(|source| ConnectError::File { path: PathBuf::from(path), source })
}

fn absolute() -> String {
    "absolute".to_owned()
}
