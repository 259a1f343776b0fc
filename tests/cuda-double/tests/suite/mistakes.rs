//! Mistakes that the double names, each with the error of CUDA.

use crate::{BYTES, COUNT, cuda::tests, products::Product};

tests! { "mistakes::"
    no_context says "no current context" |cuda, bench| {
        std::thread::scope(|scope| scope.spawn(|| assert_eq!(cuda.alloc(&mut 0, 4), 201)).join().unwrap());
    }

    a_stream_that_is_gone says "no such stream" |cuda, bench| {
        let stream = cuda.stream();
        assert_eq!(cuda.stream_destroy(stream), 0);
        assert_eq!(cuda.stream_synchronize(stream), 400);
    }

    memory_that_is_freed_twice says "no memory of this device" |cuda, bench| {
        let memory = cuda.memory(1);
        assert_eq!(cuda.free(memory), 0);
        assert_eq!(cuda.free(memory), 1);
    }

    memory_of_another_device says "another device's" with ("CUDA_DOUBLE_DEVICES", "One;Other") |cuda, bench| {
        cuda.enter(1);
        let stream = cuda.stream();
        assert_eq!(cuda.copy_in(bench.memory, [0.0; COUNT].as_ptr(), BYTES, stream), 1);
        assert_eq!((cuda.stream_destroy(stream), cuda.release(1)), (0, 0));
        cuda.enter(0);
        assert_eq!(cuda.release(0), 0);
    }

    a_copy_beyond_memory says "4 bytes are beyond" |cuda, bench| {
        assert_eq!(cuda.copy_in(bench.memory + 4, [0.0; COUNT].as_ptr(), BYTES, bench.stream), 1);
    }

    an_argument_that_is_no_memory says "argument 0 of kernel add" |cuda, bench| {
        assert_eq!(cuda.launch_add(bench.add, bench.stream, bench.memory + BYTES, 1, 0.0, 0), 1);
    }

    a_kernel_that_writes_beside_its_memory says "has written beside" |cuda, bench| lost {
        assert_eq!(cuda.copy_in(bench.memory, [0.0; COUNT].as_ptr(), BYTES, bench.stream), 0);
        let zero = cuda.memory(64);
        assert_eq!(cuda.copy_in(zero, [0.0; COUNT].as_ptr(), 256, bench.stream), 0);
        // Unwritten memory holds NaN, which stays NaN when something is added: so it is turned into another one.
        let code = cuda.compile(
            "#include \"device.h\"\nKERNEL void put(GLOBAL float* to) { to[100] = 1.0f; }\n",
            "--gpu-architecture=sm_90",
        );
        let module = cuda.get(|to| cuda.module_load(to, code.unwrap().as_ptr().cast()));
        let put = cuda.get(|to| cuda.module_function(to, module, c"put".as_ptr()));
        let argument: *const std::ffi::c_void = (&raw const bench.memory).cast();
        let launched = cuda.launch_kernel(put, 1, 1, 1, 1, 1, 1, 0, bench.stream, &raw const argument, std::ptr::null());
        assert_eq!(launched, 0);
        assert_eq!(cuda.stream_synchronize(bench.stream), 700);
        assert_eq!(cuda.release(0), 0);
    }

    memory_that_is_freed_in_use says "work in a stream uses this memory" |cuda, bench| {
        bench.launch(cuda, 1.0);
        assert_eq!(cuda.free(bench.memory), 1);
    }

    memory_of_the_host_that_is_freed_in_use says "work in a stream uses this memory" |cuda, bench| {
        let pinned = cuda.get_pointer(BYTES);
        assert_eq!(cuda.copy_out(pinned, bench.memory, BYTES, bench.stream), 0);
        assert_eq!(cuda.host_free(pinned), 1);
        assert_eq!((cuda.synchronize(), cuda.host_free(pinned)), (0, 0));
    }

    a_module_that_is_unloaded_in_use says "work in a stream uses this module" |cuda, bench| {
        bench.launch(cuda, 1.0);
        assert_eq!(cuda.module_unload(bench.module), 1);
    }

    an_event_that_is_destroyed_in_use says "work in a stream uses this event" |cuda, bench| {
        let event = cuda.event();
        assert_eq!(cuda.event_record(event, bench.stream), 0);
        assert_eq!(cuda.event_destroy(event), 1);
        assert_eq!((cuda.synchronize(), cuda.event_destroy(event)), (0, 0));
    }

    the_time_of_an_event_that_was_not_passed says "has not passed" |cuda, bench| {
        let event = cuda.event();
        assert_eq!(cuda.event_record(event, bench.stream), 0);
        assert_eq!(cuda.elapsed(&mut 0.0, event, event), 600);
        assert_eq!((cuda.event_synchronize(event), cuda.elapsed(&mut 0.0, event, event)), (0, 0));
        assert_eq!(cuda.event_destroy(event), 0);
    }

    an_allocation_during_a_capture says "not allowed while a stream is captured" |cuda, bench| {
        assert_eq!(cuda.begin_capture(bench.stream, 1), 0);
        assert_eq!(cuda.alloc(&mut 0, 4), 900);
        assert_eq!(cuda.end_capture(bench.stream, &mut 0), 901);
    }

    a_wait_for_what_is_captured says "the stream is captured" |cuda, bench| {
        assert_eq!(cuda.begin_capture(bench.stream, 2), 0);
        assert_eq!(cuda.stream_synchronize(bench.stream), 900);
        assert_eq!(cuda.end_capture(bench.stream, &mut 0), 901);
    }

    a_graph_whose_memory_is_gone says "is no memory of a device" |cuda, bench| {
        let memory = cuda.memory(COUNT);
        assert_eq!(cuda.begin_capture(bench.stream, 1), 0);
        assert_eq!(cuda.launch_add(bench.add, bench.stream, memory, 100, 1.0, 0), 0);
        let graph = cuda.get(|to| cuda.end_capture(bench.stream, to));
        let executable = cuda.get(|to| cuda.instantiate(to, graph, 0));
        assert_eq!(cuda.free(memory), 0);
        assert_eq!(cuda.graph_launch(executable, bench.stream), 1);
        assert_eq!((cuda.executable_destroy(executable), cuda.graph_destroy(graph)), (0, 0));
    }

    a_block_of_too_many_threads says "a block of 1056 threads" |cuda, bench| {
        let launched = cuda.launch_kernel(
            bench.add, 1, 1, 1, 33, 32, 1, 0, bench.stream, std::ptr::null(), std::ptr::null(),
        );
        assert_eq!(launched, 1);
    }

    a_grid_of_too_many_blocks says "a grid of [1, 65536, 1] blocks" |cuda, bench| {
        let launched = cuda.launch_kernel(
            bench.add, 1, 65_536, 1, 1, 1, 1, 0, bench.stream, std::ptr::null(), std::ptr::null(),
        );
        assert_eq!(launched, 1);
    }

    a_cubin_for_another_device says "the cubin is for sm_80" |cuda, bench| {
        let code = cuda.compile(crate::ADD, "--gpu-architecture=sm_80").unwrap();
        assert_eq!(cuda.module_load(&mut 0, code.as_ptr().cast()), 209);
    }

    what_is_not_given_back says "1 allocations of the host, 1 streams, 1 events" |cuda, bench| {
        cuda.get_pointer(4);
        cuda.stream();
        cuda.event();
    }

    a_context_that_is_not_released says "device 0 is retained, with 1 allocations, 1 streams, 1 modules" |cuda, bench| lost {
        assert_eq!(cuda.stream_synchronize(bench.stream), 0);
    }

    a_product_of_matrices_that_do_not_fit says "2 x 3 by 2 x 2 is not" |cuda, bench, product: Product| {
        let layouts = product.layouts;
        product.layouts[1] = layouts[2];
        assert_eq!(product.ask(cuda).0, 7);
        product.layouts = layouts;
    }

    a_column_that_is_shorter_than_its_rows says "with 1 from column to column" |cuda, bench, product: Product| {
        assert_eq!(cuda.lt_layout_destroy(product.layouts[2]), 0);
        product.layouts[2] = cuda.get(|to| cuda.lt_layout(to, 0, 2, 2, 1));
        assert_eq!(product.ask(cuda).0, 7);
    }

    results_that_overlap_in_a_stack says "the matrices of D overlap" |cuda, bench, product: Product| {
        for layout in product.layouts {
            let (count, stride) = (2_i32, 3_i64);
            assert_eq!(cuda.lt_lay_out(layout, 5, (&raw const count).cast(), 4), 0);
            assert_eq!(cuda.lt_lay_out(layout, 6, (&raw const stride).cast(), 8), 0);
        }
        assert_eq!(product.ask(cuda).0, 7);
    }

    stacks_of_different_numbers says "stacks of [2, 1, 1] matrices" |cuda, bench, product: Product| {
        let count = 2_i32;
        assert_eq!(cuda.lt_lay_out(product.layouts[0], 5, (&raw const count).cast(), 4), 0);
        assert_eq!(product.ask(cuda).0, 7);
    }

    an_attribute_of_another_size says "attribute 5 of 8 bytes" |cuda, bench, product: Product| {
        let count = 2_i64;
        assert_eq!(cuda.lt_lay_out(product.layouts[0], 5, (&raw const count).cast(), 8), 7);
    }

    a_bias_that_is_missing says "a bias without an address" |cuda, bench, product: Product| {
        product.describe(cuda, 8, 0_u64);
        assert_eq!(product.ask(cuda).0, 7);
    }

    the_algorithm_of_another_product says "the algorithm is of another product" |cuda, bench, product: Product| {
        product.describe(cuda, 7, 2_u32);
        assert_eq!(product.multiply(cuda, bench.stream), 7);
    }

    a_matrix_that_is_not_aligned says "B is not aligned to 32 bytes" |cuda, bench, product: Product| {
        product.at[1] += 4;
        assert_eq!(product.multiply(cuda, bench.stream), 7);
    }

    a_matrix_beyond_memory says "A: 8 bytes are beyond the memory" |cuda, bench, product: Product| {
        product.at[0] += 384;
        assert_eq!(product.multiply(cuda, bench.stream), 7);
    }

    a_result_over_a_factor says "D overlaps B" |cuda, bench, product: Product| {
        product.at[2] = product.at[1];
        assert_eq!(product.multiply(cuda, bench.stream), 7);
    }

    too_little_workspace says "4095 bytes of workspace are too few" |cuda, bench, product: Product| {
        let layouts = product.layouts;
        product.layouts = [(2, 32), (32, 2), (2, 2)]
            .map(|(rows, columns)| cuda.get(|to| cuda.lt_layout(to, 0, rows, columns, rows.cast_signed())));
        product.prefer(cuda, 1, 1_u64 << 20);
        assert_eq!(product.ask(cuda), (0, 1));
        product.workspace = (bench.memory, 4095);
        assert_eq!(product.multiply(cuda, bench.stream), 7);
        assert_eq!(layouts.map(|layout| cuda.lt_layout_destroy(layout)), [0; 3]);
    }

    a_handle_that_is_gone says "no such handle" |cuda, bench, product: Product| {
        assert_eq!(cuda.lt_destroy(product.handle), 0);
        assert_eq!(product.multiply(cuda, bench.stream), 1);
        product.handle = cuda.get(|to| cuda.lt_create(to));
    }

    a_handle_that_is_made_during_a_capture says "not allowed while a stream is captured" |cuda, bench| {
        assert_eq!(cuda.begin_capture(bench.stream, 1), 0);
        assert_eq!(cuda.lt_create(&mut 0), 13);
        assert_eq!(cuda.end_capture(bench.stream, &mut 0), 901);
    }

    objects_that_are_not_given_back says "1 handles of cuBLASLt, 1 descriptions of products" |cuda, bench| {
        assert_eq!(cuda.lt_create(&mut 0), 0);
        assert_eq!(cuda.lt_description(&mut 0, 68, 0), 0);
    }
}
