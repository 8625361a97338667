//! The forward pass: from tokens to one vector a text.
//!
//! The texts of a batch lie one after the other without padding. Every matrix product runs over the rows of all of
//! them; only the attention looks at one text at a time.

use std::ops::Range;

use memtide_kernel::{Keep, Workspace, gelu, multiply, multiply_by, normalize, softmax};
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions};
use rten_tensor::NdTensorView;

use super::weights::{Layer, Linear, Weights};

/// Runs a model on one thread; keeps its buffers from one batch to the next.
#[derive(Default)]
pub struct Forward {
    gemm: GemmExecutor,
    workspace: Workspace,
    hidden: Vec<f32>,
    attention: Vec<f32>,
    attended: Vec<f32>,
    inner: Vec<f32>,
    scores: Vec<f32>,
    head: Vec<f32>,
}

impl Forward {
    /// The mean of each text's last hidden states. Every text has from one to `weights.shape.positions` tokens,
    /// all of them of the model's vocabulary.
    pub fn run(&mut self, weights: &Weights, texts: &[&[u32]]) -> Vec<Vec<f32>> {
        let shape = &weights.shape;
        self.hidden.clear();
        for text in texts {
            look_up(weights, text, &mut self.hidden);
        }
        normalize(&mut self.hidden, &weights.norm.scale, &weights.norm.shift, shape.layer_norm_eps);

        let rows = self.hidden.len() / shape.hidden_size;
        self.attention.resize(rows * shape.hidden_size * 3, 0.0);
        self.attended.resize(rows * shape.hidden_size, 0.0);
        self.inner.resize(rows * shape.intermediate_size, 0.0);
        for layer in &weights.layers {
            self.layer(weights, layer, texts);
        }
        spans(texts)
            .map(|span| span.start * shape.hidden_size..span.end * shape.hidden_size)
            .map(|rows| mean(&self.hidden[rows], shape.hidden_size))
            .collect()
    }

    fn layer(&mut self, weights: &Weights, layer: &Layer, texts: &[&[u32]]) {
        let eps = weights.shape.layer_norm_eps;
        apply(&mut self.workspace, &self.hidden, &layer.attention, &mut self.attention, Keep::Nothing);
        for span in spans(texts) {
            for head in 0..weights.shape.heads {
                self.attend(weights, span.clone(), head);
            }
        }
        // The product is added to what is there: the residual connection.
        apply(&mut self.workspace, &self.attended, &layer.attended, &mut self.hidden, Keep::Everything);
        normalize(&mut self.hidden, &layer.attention_norm.scale, &layer.attention_norm.shift, eps);

        apply(&mut self.workspace, &self.hidden, &layer.up, &mut self.inner, Keep::Nothing);
        gelu(&mut self.inner);
        apply(&mut self.workspace, &self.inner, &layer.down, &mut self.hidden, Keep::Everything);
        normalize(&mut self.hidden, &layer.output_norm.scale, &layer.output_norm.shift, eps);
    }

    /// One head of the attention among the tokens of one text.
    #[expect(clippy::cast_precision_loss, reason = "a head has a few dozen numbers")]
    fn attend(&mut self, weights: &Weights, span: Range<usize>, head: usize) {
        let (hidden, size, tokens) = (weights.shape.hidden_size, weights.shape.head_size(), span.len());
        let stride = 3 * hidden;
        let first = span.start * stride + head * size;
        let part = |offset: usize| &self.attention[first + offset..];
        let by_row = |values| NdTensorView::from_slice_with_strides([tokens, size], values, [stride, 1]);
        let by_column = |values| NdTensorView::from_slice_with_strides([size, tokens], values, [1, stride]);
        let fits = "the rows of the text are in the buffer";

        self.scores.resize(tokens * tokens, 0.0);
        let (query, key) = (by_row(part(0)).expect(fits), by_column(part(hidden)).expect(fits));
        let scaled = GemmOptions { alpha: (size as f32).sqrt().recip(), ..GemmOptions::default() };
        let (query, key) = (GemmInputA::Unpacked(query), GemmInputB::Unpacked(key));
        multiply(&self.gemm, &mut self.scores, query, key, scaled);
        softmax(&mut self.scores, tokens);

        self.head.resize(tokens * size, 0.0);
        let scores = NdTensorView::from_data([tokens, tokens], self.scores.as_slice());
        let value = by_row(part(2 * hidden)).expect(fits);
        let (scores, value) = (GemmInputA::Unpacked(scores), GemmInputB::Unpacked(value));
        multiply(&self.gemm, &mut self.head, scores, value, GemmOptions::default());
        let target = self.attended[span.start * hidden..].chunks_exact_mut(hidden);
        for (target, row) in target.zip(self.head.chunks_exact(size)) {
            target[head * size..][..size].copy_from_slice(row);
        }
    }
}

/// The rows of each text.
fn spans<'a>(texts: &'a [&[u32]]) -> impl Iterator<Item = Range<usize>> + 'a {
    texts.iter().scan(0, |end, text| {
        let start = *end;
        *end += text.len();
        Some(start..*end)
    })
}

fn look_up(weights: &Weights, text: &[u32], rows: &mut Vec<f32>) {
    let width = weights.shape.hidden_size;
    for (&token, position) in text.iter().zip(weights.positions.chunks_exact(width)) {
        let word = &weights.words[token as usize * width..][..width];
        rows.extend(word.iter().zip(position).map(|(word, position)| word + position));
    }
}

fn apply(workspace: &mut Workspace, input: &[f32], linear: &Linear, output: &mut [f32], keep: Keep) {
    multiply_by(workspace, output, input, &linear.matrix, &linear.bias, keep);
}

#[expect(clippy::cast_precision_loss, reason = "a text has a few hundred tokens")]
fn mean(rows: &[f32], width: usize) -> Vec<f32> {
    let mut sum = vec![0.0; width];
    for row in rows.chunks_exact(width) {
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum += value;
        }
    }
    let count = (rows.len() / width) as f32;
    sum.iter().map(|sum| sum / count).collect()
}
