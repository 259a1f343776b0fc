//! Sizes and offsets as Rust sees them, to be compared with what C sees.

use std::mem::offset_of;

use proctor_plugin_api::abi::*;

/// One structure: its name, size, alignment, and the offset of each field, in bytes.
pub struct Layout {
    pub name: &'static str,
    pub size: usize,
    pub alignment: usize,
    pub fields: Vec<(&'static str, usize)>,
}

macro_rules! layouts {
    ($($name:ident { $($field:ident),* });* $(;)?) => {
        /// All structures of the ABI.
        pub fn layouts() -> Vec<Layout> {
            // A pattern without `..` does not compile if a field is missing from the list.
            $(let _ = |value: $name| { let $name { $($field: _),* } = value; };)*
            vec![$(Layout {
                name: stringify!($name),
                size: size_of::<$name>(),
                alignment: align_of::<$name>(),
                fields: vec![$((stringify!($field), offset_of!($name, $field))),*],
            }),*]
        }
    };
}

layouts! {
    ProctorString { data, length };
    ProctorError { size, message, capacity, length, vendor_code };
    ProctorModelSupport { model, format, precision, device, scenarios, batch_size_max, flags, memory_bytes };
    ProctorOptionSpec { name, help, default_value, kind, choice_count, choices, integer_min, integer_max, float_min, float_max };
    ProctorManifest { size, name, vendor, version, license, description, capabilities, models, model_count, model_stride, options, option_count, option_stride };
    ProctorOptionValue { name, text, integer, number, kind, reserved };
    ProctorTensorSpec { name, shape, rank, element_type };
    ProctorFile { format, path };
    ProctorOpenRequest { size, host, options, option_count, option_stride };
    ProctorModelRequest { size, model, precision, device, files, file_count, file_stride, inputs, input_count, outputs, output_count, tensor_spec_stride, scenario, batch_size_max, instance_count, flags, latency_bound_ns, first_token_bound_ns, per_token_bound_ns, target_qps, samples_per_query, expected_batch_size, reserved, placements, placement_count, placement_stride };
    ProctorPlacement { size, instance_index, instance_count, cpus, cpu_count, device_index, reserved };
    ProctorTensor { data, size_bytes, shape, rank, element_type };
    ProctorPreparedSample { index, inputs, input_count };
    ProctorSampleSet { size, samples, sample_count, sample_stride, input_stride, ranges, range_count, range_stride };
    ProctorMemoryRange { data, size_bytes, kind, reserved };
    ProctorOutput { data, capacity_bytes, size_bytes, lent, release, context };
    ProctorBatchSample { id, index, inputs, input_count, outputs, output_count, status, token_count, message, vendor_code };
    ProctorStage { name, begin_ns, end_ns };
    ProctorBatch { size, samples, sample_count, sample_stride, input_stride, output_stride, stages, stage_count, stage_stride, id };
    ProctorQuerySample { id, index };
    ProctorQuery { size, samples, sample_count, sample_stride, sample_offset, total_sample_count };
    ProctorResponse { id, data, size_bytes, status, token_count, message, vendor_code };
    ProctorResponses { size, responses, response_count, response_stride, stages, stage_count, stage_stride };
    ProctorMetric { size, name, unit, value, at_ns };
    ProctorProgress { size, done, total, task };
    ProctorHost { size, abi_major, abi_minor, context, log, log_level, now_ns, complete, first_token, metric, progress, is_cancelled, cache_folder, extension };
    ProctorVersionRange { size, major_min, major_max, minor_max, reserved };
    ProctorPlugin { size, abi_major, abi_minor, describe, open, load_model, create_instance, prepare_samples, release_samples, warm_up, start, execute, flush, stop, destroy_instance, unload_model, close, extension };
    ProctorIssue { size, issue, warm_up };
    ProctorVirtualTime { size, execute };
    ProctorTextSink { size, context, write };
    ProctorExplain { size, explain };
    ProctorInstanceThread { size, begin, end };
    ProctorLiveInstances { size, create, destroy };
    ProctorAllocation { size, size_bytes, alignment, memory, kind, reserved };
    ProctorMemory { size, allocate, free, copy };
    ProctorDevice { size, name, id, memory_bytes, numa_node, reserved };
    ProctorDeviceSink { size, context, add };
    ProctorDevices { size, flags, reserved, list };
    ProctorSubmit { size, in_flight_max, submit };
    ProctorDone { size, batch_id, status, reserved, message, vendor_code };
    ProctorSubmitHost { size, done };
    ProctorEnergy { size, read };
    ProctorInputForm { size, element_type, layout, scale, zero_point };
    ProctorInputForms { size, choose };
    ProctorTokenReport { id, token_count, reserved };
    ProctorTokens { size, reports, report_count, report_stride };
    ProctorTokensHost { size, tokens };
}

/// Fails if a structure of the header is not in the list above.
#[test]
fn every_structure_of_the_header_is_compared() {
    let header = include_str!("../../../include/proctor_plugin.h");
    let opaque = ["ProctorBackend", "ProctorModel", "ProctorInstance"];
    let listed: Vec<_> = layouts().iter().map(|layout| layout.name).collect();
    for line in header.lines().filter_map(|line| line.strip_prefix("typedef struct ")) {
        let name = line.split([' ', '{']).next().unwrap();
        assert!(opaque.contains(&name) || listed.contains(&name), "{name} is not compared");
    }
}
