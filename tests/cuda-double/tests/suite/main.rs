//! The double computes, and each of its checks fails as it must.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails the test")]

mod convolutions;
mod cuda;
mod mistakes;
mod products;

use cuda::{ADD, Cuda, alone, tests};

const COUNT: usize = 100;
const BYTES: usize = 4 * COUNT;

/// A stream, memory of `COUNT` numbers with 1 in it, and the kernel with its module.
struct Bench {
    stream: usize,
    memory: usize,
    module: usize,
    add: usize,
}

impl Bench {
    fn new(cuda: &Cuda) -> Self {
        cuda.enter(0);
        let (module, add) = cuda.add();
        let bench = Self { stream: cuda.stream(), memory: cuda.memory(COUNT), module, add };
        assert_eq!(cuda.copy_in(bench.memory, [1.0; COUNT].as_ptr(), BYTES, bench.stream), 0);
        bench
    }

    fn launch(&self, cuda: &Cuda, by: f32) {
        assert_eq!(cuda.launch_add(self.add, self.stream, self.memory, 100, by, 0), 0);
    }

    /// The numbers, after all work.
    fn numbers(&self, cuda: &Cuda) -> [f32; COUNT] {
        let mut numbers = [0.0; COUNT];
        assert_eq!(cuda.copy_out(numbers.as_mut_ptr(), self.memory, BYTES, self.stream), 0);
        assert_eq!(cuda.stream_synchronize(self.stream), 0);
        numbers
    }

    fn give_back(self, cuda: &Cuda) {
        assert_eq!(cuda.synchronize(), 0);
        assert_eq!(cuda.free(self.memory), 0);
        assert_eq!(cuda.module_unload(self.module), 0);
        assert_eq!(cuda.stream_destroy(self.stream), 0);
        assert_eq!(cuda.release(0), 0);
    }
}

tests! { ""
    kernels_compute_and_nothing_is_said says nothing |cuda, bench| {
        let events = [cuda.event(), cuda.event()];
        assert_eq!(cuda.event_record(events[0], bench.stream), 0);
        bench.launch(cuda, 2.0);
        assert_eq!(cuda.event_record(events[1], bench.stream), 0);
        assert_eq!(cuda.event_synchronize(events[1]), 0);
        assert!(cuda.get::<f32>(|to| cuda.elapsed(to, events[0], events[1])) > 0.0);
        // An address within the memory.
        assert_eq!(cuda.launch_add(bench.add, bench.stream, bench.memory + 40, 10, 4.0, 20), 0);
        let numbers = bench.numbers(cuda);
        for (at, number) in numbers.iter().enumerate() {
            assert_eq!(*number, if (30..40).contains(&at) { 7.0 } else { 3.0 }, "{at}");
        }
        assert_eq!(events.map(|event| cuda.event_destroy(event)), [0, 0]);
    }

    work_is_done_when_it_is_waited_for says nothing |cuda, bench| {
        let mut numbers = [0.0; COUNT];
        assert_eq!(cuda.copy_out(numbers.as_mut_ptr(), bench.memory, BYTES, bench.stream), 0);
        assert_eq!(numbers, [0.0; COUNT]);
        assert_eq!(cuda.stream_synchronize(bench.stream), 0);
        assert_eq!(numbers, [1.0; COUNT]);

        // Of the memory of cuMemHostAlloc what is there in the end; of other memory what was there at the call.
        let pinned = cuda.get_pointer(BYTES);
        // SAFETY: there are as many numbers.
        unsafe { pinned.write(5.0) };
        let mut ordinary = 6.0;
        assert_eq!(cuda.copy_in(bench.memory, pinned, 4, bench.stream), 0);
        assert_eq!(cuda.copy_in(bench.memory + 4, &raw const ordinary, 4, bench.stream), 0);
        // SAFETY: as above.
        unsafe { pinned.write(7.0) };
        ordinary += 1.0;
        assert_eq!(bench.numbers(cuda)[..2], [7.0, 6.0]);
        assert_eq!(ordinary, 7.0);
        assert_eq!(cuda.host_free(pinned), 0);
    }

    // Adds on one stream to what another one copies in.
    the_order_of_streams_is_drawn says nothing |cuda, bench| {
        let other = cuda.stream();
        assert_eq!(cuda.stream_synchronize(bench.stream), 0);
        let mut orders = [0; 2];
        for _ in 0..20 {
            assert_eq!(cuda.copy_in(bench.memory, [1.0; COUNT].as_ptr(), BYTES, bench.stream), 0);
            assert_eq!(cuda.launch_add(bench.add, other, bench.memory, 100, 1.0, 0), 0);
            assert_eq!(cuda.stream_synchronize(other), 0);
            assert_eq!(cuda.stream_synchronize(bench.stream), 0);
            orders[usize::from(bench.numbers(cuda)[0] == 2.0)] += 1;
        }
        assert!(orders.iter().all(|count| *count > 0), "{orders:?}");
        assert_eq!(cuda.stream_destroy(other), 0);
    }

    a_graph_does_what_was_captured says nothing |cuda, bench| {
        assert_eq!(cuda.begin_capture(bench.stream, 1), 0);
        bench.launch(cuda, 1.0);
        bench.launch(cuda, 10.0);
        let graph = cuda.get(|to| cuda.end_capture(bench.stream, to));
        let executable = cuda.get(|to| cuda.instantiate(to, graph, 0));
        assert_eq!(cuda.graph_destroy(graph), 0);
        assert_eq!(bench.numbers(cuda), [1.0; COUNT]);
        for _ in 0..2 {
            assert_eq!(cuda.graph_launch(executable, bench.stream), 0);
        }
        assert_eq!(bench.numbers(cuda), [23.0; COUNT]);
        assert_eq!(cuda.executable_destroy(executable), 0);
    }
}

#[test]
fn the_compiler_says_what_is_wrong() {
    alone("the_compiler_says_what_is_wrong", &[], Some("does not include device.h"), |cuda| {
        let (status, log) =
            cuda.compile(&ADD.replace("+= by", "+= bye"), "--gpu-architecture=sm_90").unwrap_err();
        assert_eq!(status, 6);
        assert!(log.contains("bye"), "{log}");
        assert_eq!(cuda.compile(ADD, "--gpu-architecture=sm_1").unwrap_err().0, 5);
        assert_eq!(cuda.compile("int x;", "--gpu-architecture=sm_90").unwrap_err().0, 3);
    });
}

#[test]
fn without_variables_there_is_one_device() {
    alone("without_variables_there_is_one_device", &[], Some("no device 1"), |cuda| {
        assert_eq!(cuda.get::<i32>(|to| cuda.device_count(to)), 1);
        assert_eq!(cuda.retain(&mut 0, 1), 101);
    });
}

#[test]
fn variables_say_which_devices_there_are() {
    let variables = [
        ("CUDA_DOUBLE_DEVICES", "One;Other"),
        ("CUDA_DOUBLE_DRIVER", "11040"),
        ("CUDA_DOUBLE_CAPABILITY", "8.6"),
        ("CUDA_DOUBLE_MEMORY", "1000"),
        ("CUDA_DOUBLE_THREADS", "256"),
    ];
    alone("variables_say_which_devices_there_are", &variables, None, |cuda| {
        assert_eq!(cuda.get::<i32>(|to| cuda.version(to)), 11_040);
        assert_eq!(cuda.get::<i32>(|to| cuda.device_count(to)), 2);
        let mut name = [0_u8; 16];
        assert_eq!(cuda.device_name(name.as_mut_ptr().cast(), 16, 1), 0);
        assert_eq!(&name[..6], b"Other\0");
        assert_eq!([75, 76, 1].map(|which| cuda.get::<i32>(|to| cuda.attribute(to, which, 1))), [8, 6, 256]);
        cuda.enter(1);
        let memory = cuda.memory(200);
        assert_eq!(cuda.alloc(&mut 0, 201), 2);
        assert_eq!(cuda.free(memory), 0);
        assert_eq!(cuda.release(1), 0);
    });
}

#[test]
fn a_device_is_lost_for_good_at_the_launch_that_was_asked_for() {
    let name = "a_device_is_lost_for_good_at_the_launch_that_was_asked_for";
    alone(name, &[("CUDA_DOUBLE_LOST_AT", "2")], None, |cuda| {
        let bench = Bench::new(cuda);
        bench.launch(cuda, 1.0);
        assert_eq!(bench.numbers(cuda), [2.0; COUNT]);
        bench.launch(cuda, 1.0);
        assert_eq!(cuda.stream_synchronize(bench.stream), 700);
        assert_eq!((cuda.synchronize(), cuda.free(bench.memory), cuda.alloc(&mut 0, 4)), (700, 700, 700));
        assert_eq!(cuda.release(0), 0);
    });
}
