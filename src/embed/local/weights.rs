//! The weights of a BERT encoder, in the order in which the kernels read them.

use std::path::Path;

use memtide_kernel::Matrix;

use super::super::ConnectError;
use super::shape::Shape;
use super::tensors::Tensors;

/// All weights of a model.
pub struct Weights {
    /// The sizes of the model.
    pub shape: Shape,
    /// One row for each token of the vocabulary.
    pub words: Vec<f32>,
    /// One row for each place in a text; the row for "first sentence" is added to each.
    pub positions: Vec<f32>,
    /// The normalisation of the sum of the two.
    pub norm: Norm,
    /// The layers.
    pub layers: Vec<Layer>,
}

/// One layer: attention, then a feed-forward part.
pub struct Layer {
    /// Query, key and value of all heads, side by side.
    pub attention: Linear,
    /// From the heads back to the hidden size.
    pub attended: Linear,
    /// After the attention.
    pub attention_norm: Norm,
    /// Into the feed-forward part.
    pub up: Linear,
    /// Out of it.
    pub down: Linear,
    /// After the feed-forward part.
    pub output_norm: Norm,
}

/// A matrix and what is added to its product.
pub struct Linear {
    /// The matrix, in half precision.
    pub matrix: Matrix,
    /// One number for each column.
    pub bias: Vec<f32>,
}

/// Scale and shift of a normalisation.
pub struct Norm {
    /// One factor for each number of a row.
    pub scale: Vec<f32>,
    /// One summand for each number of a row.
    pub shift: Vec<f32>,
}

impl Weights {
    /// Reads the weights of the model in `folder`.
    pub fn read(folder: &Path, shape: Shape) -> Result<Self, ConnectError> {
        let mut loader =
            Loader { tensors: Tensors::open(&folder.join("model.safetensors"))?, hidden: shape.hidden_size };
        let hidden = shape.hidden_size;
        let words = loader.tensors.read("embeddings.word_embeddings.weight", &[shape.vocab_size, hidden])?;
        let positions = loader.positions(&shape)?;
        let norm = loader.norm("embeddings.LayerNorm")?;
        let layers = (0..shape.layers)
            .map(|layer| loader.layer(&format!("encoder.layer.{layer}"), shape.intermediate_size))
            .collect::<Result<_, _>>()?;
        Ok(Self { shape, words, positions, norm, layers })
    }
}

struct Loader {
    tensors: Tensors,
    hidden: usize,
}

impl Loader {
    fn positions(&mut self, shape: &Shape) -> Result<Vec<f32>, ConnectError> {
        let hidden = self.hidden;
        let kinds = self.tensors.read("embeddings.token_type_embeddings.weight", &[2, hidden])?;
        let mut positions =
            self.tensors.read("embeddings.position_embeddings.weight", &[shape.positions, hidden])?;
        for row in positions.chunks_exact_mut(hidden) {
            for (value, kind) in row.iter_mut().zip(&kinds) {
                *value += kind;
            }
        }
        Ok(positions)
    }

    fn layer(&mut self, name: &str, intermediate: usize) -> Result<Layer, ConnectError> {
        let hidden = self.hidden;
        let [query, key, value] =
            ["query", "key", "value"].map(|part| format!("{name}.attention.self.{part}"));
        Ok(Layer {
            attention: self.linear(&[query, key, value], hidden, hidden)?,
            attended: self.linear(&[format!("{name}.attention.output.dense")], hidden, hidden)?,
            attention_norm: self.norm(&format!("{name}.attention.output.LayerNorm"))?,
            up: self.linear(&[format!("{name}.intermediate.dense")], intermediate, hidden)?,
            down: self.linear(&[format!("{name}.output.dense")], hidden, intermediate)?,
            output_norm: self.norm(&format!("{name}.output.LayerNorm"))?,
        })
    }

    /// Several matrices of `outputs` × `inputs` as one, so that their products are computed in one go.
    fn linear(&mut self, names: &[String], outputs: usize, inputs: usize) -> Result<Linear, ConnectError> {
        let (mut matrix, mut bias) = (Vec::new(), Vec::new());
        for name in names {
            matrix.extend(self.tensors.read(&format!("{name}.weight"), &[outputs, inputs])?);
            bias.extend(self.tensors.read(&format!("{name}.bias"), &[outputs])?);
        }
        // The file has a row for each output; the product has a column.
        Ok(Linear { matrix: Matrix::from_columns(&matrix, inputs), bias })
    }

    fn norm(&mut self, name: &str) -> Result<Norm, ConnectError> {
        let scale = self.tensors.read(&format!("{name}.weight"), &[self.hidden])?;
        let shift = self.tensors.read(&format!("{name}.bias"), &[self.hidden])?;
        Ok(Norm { scale, shift })
    }
}
