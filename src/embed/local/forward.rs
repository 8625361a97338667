//! The forward pass: from tokens to one vector a text.
//!
//! The texts of a batch lie one after the other without padding. Every matrix product runs over the rows of all of
//! them; only the attention looks at one text at a time.

use std::ops::Range;

use rten_gemm::{BiasVector, GemmExecutor, GemmInputA, GemmInputB, GemmOptions};
use rten_simd::{Isa, SimdOp, SimdUnaryOp};
use rten_tensor::NdTensorView;
use rten_vecmath::{Gelu, Normalize, NormalizeOptions, Softmax, Sum, SumSquareSub};

use super::weights::{Layer, Linear, Norm, Weights};

/// Runs a model on one thread; keeps its buffers from one batch to the next.
#[derive(Default)]
pub struct Forward {
    gemm: GemmExecutor,
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
        normalize(&mut self.hidden, &weights.norm, shape.layer_norm_eps);

        let rows = self.hidden.len() / shape.hidden_size;
        self.attention.resize(rows * shape.hidden_size * 3, 0.0);
        self.attended.resize(rows * shape.hidden_size, 0.0);
        self.inner.resize(rows * shape.intermediate_size, 0.0);
        for layer in &weights.layers {
            self.layer(weights, layer, texts);
        }
        spans(texts)
            .map(|span| {
                mean(
                    &self.hidden[span.start * shape.hidden_size..span.end * shape.hidden_size],
                    shape.hidden_size,
                )
            })
            .collect()
    }

    fn layer(&mut self, weights: &Weights, layer: &Layer, texts: &[&[u32]]) {
        let eps = weights.shape.layer_norm_eps;
        multiply(&self.gemm, &self.hidden, &layer.attention, &mut self.attention, 0.0);
        for span in spans(texts) {
            for head in 0..weights.shape.heads {
                self.attend(weights, span.clone(), head);
            }
        }
        // With a factor of one the product is added to what is there: the residual connection.
        multiply(&self.gemm, &self.attended, &layer.attended, &mut self.hidden, 1.0);
        normalize(&mut self.hidden, &layer.attention_norm, eps);

        multiply(&self.gemm, &self.hidden, &layer.up, &mut self.inner, 0.0);
        Gelu {}.map_mut(&mut self.inner);
        multiply(&self.gemm, &self.inner, &layer.down, &mut self.hidden, 1.0);
        normalize(&mut self.hidden, &layer.output_norm, eps);
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
        self.gemm
            .gemm(&mut self.scores, GemmInputA::Unpacked(query), GemmInputB::Unpacked(key), scaled)
            .expect("the shapes agree");
        SoftmaxRows { values: &mut self.scores, width: tokens }.dispatch();

        self.head.resize(tokens * size, 0.0);
        let scores = NdTensorView::from_data([tokens, tokens], self.scores.as_slice());
        let value = by_row(part(2 * hidden)).expect(fits);
        self.gemm
            .gemm(
                &mut self.head,
                GemmInputA::Unpacked(scores),
                GemmInputB::Unpacked(value),
                GemmOptions::default(),
            )
            .expect("the shapes agree");
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

/// `output = input × matrix + bias + kept × output`.
fn multiply(gemm: &GemmExecutor, input: &[f32], linear: &Linear, output: &mut [f32], kept: f32) {
    let width = linear.matrix.rows();
    let input = NdTensorView::from_data([input.len() / width, width], input);
    let options =
        GemmOptions { beta: kept, bias: Some(BiasVector::Row(&linear.bias)), ..GemmOptions::default() };
    gemm.gemm(output, GemmInputA::Unpacked(input), GemmInputB::Packed(&linear.matrix), options)
        .expect("the shapes agree, and the matrix was packed for this kernel");
}

fn normalize(values: &mut [f32], norm: &Norm, eps: f32) {
    NormalizeRows { values, norm, eps }.dispatch();
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

/// Gives every row mean zero and variance one, then scales and shifts it.
struct NormalizeRows<'a> {
    values: &'a mut [f32],
    norm: &'a Norm,
    eps: f32,
}

impl SimdOp for NormalizeRows<'_> {
    type Output = ();

    #[expect(clippy::cast_precision_loss, reason = "a row has a few hundred numbers")]
    #[expect(clippy::inline_always, reason = "only inlined can it use the instructions it is dispatched for")]
    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let width = self.norm.scale.len();
        for row in self.values.chunks_exact_mut(width) {
            let mean = Sum::new(row).eval(isa) / width as f32;
            let variance = SumSquareSub::new(row, mean).eval(isa) / width as f32;
            let options = NormalizeOptions {
                pre_scale_bias: mean,
                scale: (variance + self.eps).sqrt().recip(),
                element_scale: Some(&self.norm.scale),
                bias: 0.0,
                element_bias: Some(&self.norm.shift),
            };
            Normalize::new_mut(row, options).eval(isa);
        }
    }
}

/// Turns every row into weights that add up to one.
struct SoftmaxRows<'a> {
    values: &'a mut [f32],
    width: usize,
}

impl SimdOp for SoftmaxRows<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "only inlined can it use the instructions it is dispatched for")]
    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        for row in self.values.chunks_exact_mut(self.width) {
            Softmax::new_mut(row).eval(isa);
        }
    }
}
