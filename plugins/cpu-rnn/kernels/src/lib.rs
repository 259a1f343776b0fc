//! Kernels of recurrent layers for the processor at hand: packed weights, products, activations, cells.
