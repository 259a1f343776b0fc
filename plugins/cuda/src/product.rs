//! Products of matrices by cuBLASLt.

use std::{ffi::c_int, path::Path, sync::Arc};

use proctor_device::{
    driver::DeviceError,
    program::{call::Argument, library::MatrixProduct},
};

use crate::{
    context::Context,
    error::OpenError,
    libraries::{
        cublaslt::{Algorithm, CublasLt, Description, Handle, Layouts, numbers},
        cuda,
    },
    memory::Memory,
    queue::{Queue, WORKSPACE_BYTES},
    shape::{ALIGNMENT, Columns, Shape},
};

/// cuBLASLt, and how it is used.
pub struct ProductLibrary {
    library: Arc<CublasLt>,
    /// Whether f32 may be multiplied as TF32.
    takes_tf32: bool,
}

impl ProductLibrary {
    /// Loads the library from the folder `cublaslt` if given; else searches `compiler`, the folder of the compiler's
    /// library, and then where the system looks.
    ///
    /// # Errors
    /// [`OpenError::NoCublasLt`], or that there is no driver.
    pub fn load(
        cublaslt: Option<&Path>,
        compiler: Option<&Path>,
        takes_tf32: bool,
    ) -> Result<Self, OpenError> {
        let library = CublasLt::load(cublaslt, compiler, cuda::open()?);
        Ok(Self { library: library.map_err(|reason| OpenError::NoCublasLt { reason })?, takes_tf32 })
    }
}

/// cuBLASLt on a device.
pub(crate) struct Products {
    handle: Handle,
    takes_tf32: bool,
    context: Arc<Context>,
}

impl Products {
    pub fn new(
        ProductLibrary { library, takes_tf32 }: &ProductLibrary,
        context: &Arc<Context>,
    ) -> Result<Arc<Self>, DeviceError> {
        context.enter()?;
        Ok(Arc::new(Self {
            handle: library.handle()?,
            takes_tf32: *takes_tf32,
            context: Arc::clone(context),
        }))
    }

    /// Returns the description of a product, ended by this, with a bias at this address.
    fn description(&self, shape: &Shape, bias: u64) -> Result<Description, DeviceError> {
        let is_f32 = shape.factors == numbers::R_32F;
        let compute =
            if is_f32 && self.takes_tf32 { numbers::COMPUTE_32F_FAST_TF32 } else { numbers::COMPUTE_32F };
        let description = self.handle.library().description(compute)?;
        description.set(numbers::DESC_TRANSA, &numbers::OP_N)?;
        description.set(numbers::DESC_TRANSB, &shape.second_operation)?;
        description.set(numbers::DESC_EPILOGUE, &shape.epilogue)?;
        if shape.has_bias() {
            description.set(numbers::DESC_BIAS_POINTER, &bias)?;
        }
        Ok(description)
    }
}

impl Drop for Products {
    fn drop(&mut self) {
        // The handle, which goes after this, is of this context.
        if let Err(error) = self.context.enter() {
            tracing::debug!(%error, "cuBLASLt is given back without its context");
        }
    }
}

/// A product with the algorithm for it.
pub struct Product {
    shape: Shape,
    layouts: Layouts,
    algorithm: Algorithm,
    workspace_bytes: usize,
    /// Offsets of A, B and C in their memory for each call, in bytes.
    calls: Vec<[usize; 3]>,
    bias_offset: usize,
    products: Arc<Products>,
}

impl Product {
    /// Returns a product by the algorithm that the library's heuristic proposes; `None` if it has none for it.
    pub(crate) fn new(
        products: &Arc<Products>,
        product: &MatrixProduct,
    ) -> Result<Option<Self>, DeviceError> {
        let Some(shape) = Shape::of(product) else { return Ok(None) };
        let library = products.handle.library();
        let layout = |element: c_int, at: usize| {
            let Columns { extents, ld } = shape.matrices[at];
            library.layout(element, extents, ld, (shape.batch, shape.batch_strides[at]))
        };
        let layouts = [layout(shape.factors, 0)?, layout(shape.factors, 1)?, layout(shape.result, 2)?];
        let preference = library.preference()?;
        preference.set(numbers::PREF_MAX_WORKSPACE_BYTES, &(WORKSPACE_BYTES as u64))?;
        // C and D are one.
        for (attribute, at) in (numbers::PREF_MIN_ALIGNMENT_A_BYTES..).zip([0, 1, 2, 2]) {
            preference.set(attribute, &shape.alignments[at])?;
        }
        // The heuristic takes a description without a bias for a mistake, and does not look at this one.
        let description = products.description(&shape, ALIGNMENT as u64)?;
        let found = products.handle.algorithm(&description, &layouts, &preference)?;
        let Some((algorithm, workspace_bytes)) = found else {
            tracing::debug!(?product, "cuBLASLt has no algorithm");
            return Ok(None);
        };
        let bias_offset = product.c.element.bytes_of(product.bias.unwrap_or(0));
        let calls = shape.calls.clone();
        let products = Arc::clone(products);
        Ok(Some(Self { shape, layouts, algorithm, workspace_bytes, calls, bias_offset, products }))
    }
}

/// A product with its memory.
pub struct ProductLaunch {
    product: Arc<Product>,
    description: Description,
    /// Addresses of the first factor, the second and the result, of each call.
    addresses: Vec<[u64; 3]>,
    workspace: Option<Memory>,
    /// Keeps the memory of the addresses alive.
    _memories: Vec<Memory>,
}

impl ProductLaunch {
    /// Binds a product to the memory of A, B, C and the bias, and computes it once, so that the library loads its
    /// kernels now and not during capture.
    pub(crate) fn new(
        queue: &Queue,
        product: &Arc<Product>,
        arguments: &[Argument<&Memory>],
    ) -> Result<Self, DeviceError> {
        let memories: Vec<Memory> = (arguments.iter())
            .filter_map(|argument| match argument {
                Argument::Buffer(memory) => Some((*memory).clone()),
                _ => None,
            })
            .collect();
        let [a, b, c, bias @ ..] = memories.as_slice() else {
            return Err(DeviceError::refused("a product is bound to less than three matrices"));
        };
        let place = |memory: &Memory, offset: usize| memory.place("a matrix", offset, 1);
        let bias = match bias {
            [bias] => place(bias, product.bias_offset)?,
            _ if product.shape.has_bias() => {
                return Err(DeviceError::refused("a product lacks its bias"));
            }
            _ => 0,
        };
        let addresses = product
            .calls
            .iter()
            .map(|[of_a, of_b, of_c]| Ok([place(b, *of_b)?, place(a, *of_a)?, place(c, *of_c)?]));
        let addresses = addresses.collect::<Result<_, DeviceError>>()?;
        let context = queue.context();
        context.enter()?;
        let description = product.products.description(&product.shape, bias)?;
        let workspace =
            (product.workspace_bytes > 0).then(|| queue.workspace(WORKSPACE_BYTES)).transpose()?;
        let product = Arc::clone(product);
        let launch = Self { product, description, addresses, workspace, _memories: memories };
        context.alone(|| launch.enqueue(queue))?;
        Ok(launch)
    }

    /// Puts the product in a queue.
    pub(crate) fn enqueue(&self, queue: &Queue) -> Result<(), DeviceError> {
        let Product { layouts, algorithm, workspace_bytes, products, .. } = &*self.product;
        let workspace = self.workspace.as_ref().map_or(0, Memory::address);
        self.addresses.iter().try_for_each(|addresses| {
            // SAFETY: whoever bound the product has promised that its matrices and the bias are within their memory,
            // which is not freed before the work of the device is done. The alignment is that of the offsets in memory
            // that is aligned itself, and the workspace is as large as any algorithm may ask.
            unsafe {
                products.handle.multiply(
                    &self.description,
                    layouts,
                    *addresses,
                    algorithm,
                    (workspace, *workspace_bytes),
                    queue.stream(),
                )
            }
        })
    }
}
