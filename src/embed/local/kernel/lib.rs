//! What the model and the comparison of vectors do to numbers, with the widest instructions of the machine.

mod product;

pub use product::{Keep, Matrix, Workspace, multiply_by};

use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions};
pub use rten_simd::f16;
use rten_simd::ops::{BitOps, Extend, NumOps};
use rten_simd::{Isa, SimdOp, SimdUnaryOp};
use rten_vecmath::{Gelu, Normalize, NormalizeOptions, Softmax, Sum, SumSquareSub};

/// Multiplies two matrices into `output`. All shapes must agree, and a packed matrix be packed by `gemm`'s kind.
pub fn multiply(
    gemm: &GemmExecutor,
    output: &mut [f32],
    a: GemmInputA<f32>,
    b: GemmInputB<f32>,
    options: GemmOptions<f32, f32, f32>,
) {
    gemm.gemm(output, a, b, options).expect("the shapes agree");
}

/// Applies GELU to every value.
pub fn gelu(values: &mut [f32]) {
    Gelu {}.map_mut(values);
}

/// Turns every row into weights that add up to one.
pub fn softmax(rows: &mut [f32], width: usize) {
    SoftmaxRows { rows, width }.dispatch();
}

/// Gives every row mean zero and variance one, then scales and shifts it value by value.
pub fn normalize(rows: &mut [f32], scale: &[f32], shift: &[f32], eps: f32) {
    NormalizeRows { rows, scale, shift, eps }.dispatch();
}

/// The inner product of a vector with each row of a matrix in half precision. Of a row that is longer than the vector,
/// or of a vector that is longer than the rows, the rest counts as zero.
pub fn inner_products(vector: &[f32], rows: &[f16], width: usize) -> Vec<f32> {
    InnerProducts { vector, rows, width }.dispatch()
}

struct SoftmaxRows<'a> {
    rows: &'a mut [f32],
    width: usize,
}

impl SimdOp for SoftmaxRows<'_> {
    type Output = ();

    // Only inlined can it use the instructions that it is dispatched for.
    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        for row in self.rows.chunks_exact_mut(self.width) {
            Softmax::new_mut(row).eval(isa);
        }
    }
}

struct NormalizeRows<'a> {
    rows: &'a mut [f32],
    scale: &'a [f32],
    shift: &'a [f32],
    eps: f32,
}

impl SimdOp for NormalizeRows<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let width = self.scale.len();
        for row in self.rows.chunks_exact_mut(width) {
            let mean = Sum::new(row).eval(isa) / width as f32;
            let variance = SumSquareSub::new(row, mean).eval(isa) / width as f32;
            let options = NormalizeOptions {
                pre_scale_bias: mean,
                scale: (variance + self.eps).sqrt().recip(),
                element_scale: Some(self.scale),
                bias: 0.0,
                element_bias: Some(self.shift),
            };
            Normalize::new_mut(row, options).eval(isa);
        }
    }
}

struct InnerProducts<'a> {
    vector: &'a [f32],
    rows: &'a [f16],
    width: usize,
}

impl SimdOp for InnerProducts<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) -> Vec<f32> {
        let (half, single) = (isa.f16(), isa.f32());
        let (step, lanes) = (half.len(), single.len());
        let mut products = vec![0.0; self.rows.len() / self.width];
        let whole = self.width.min(self.vector.len()) / step * step;
        // Loops and no closures: only what is inlined can use the instructions that it is dispatched for.
        for (product, row) in products.iter_mut().zip(self.rows.chunks_exact(self.width)) {
            let mut sums = [single.zero(); 4];
            for (row, vector) in row[..whole].chunks(2 * step).zip(self.vector[..whole].chunks(2 * step)) {
                for (row, (vector, sums)) in
                    row.chunks_exact(step).zip(vector.chunks_exact(step).zip(sums.chunks_exact_mut(2)))
                {
                    let (low, high) = vector.split_at(lanes);
                    let row = half.load(row);
                    sums[0] = single.mul_add(half.extend_low(row), single.load(low), sums[0]);
                    sums[1] = single.mul_add(half.extend_high(row), single.load(high), sums[1]);
                }
            }
            let [a, b, c, d] = sums;
            *product = single.sum(single.add(single.add(a, b), single.add(c, d)));
            for (row, vector) in row[whole..].iter().zip(&self.vector[whole..]) {
                *product += row.to_f32() * vector;
            }
        }
        products
    }
}
