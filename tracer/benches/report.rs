//! From the model to the report, and from there to text and JSON.
#![expect(missing_docs, reason = "criterion makes functions without any")]
#![expect(dead_code, reason = "not every bench needs all records")]

mod support;

use std::io;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use fdtide::{
    pipeline::Pipeline,
    record::{Input, Start},
    sink,
};

const EXECS: u32 = 1000;

fn fed() -> Pipeline {
    let mut pipeline = Pipeline::new(Start::default(), false);
    for record in support::run(EXECS) {
        pipeline.take(Input::Record(&record));
    }
    pipeline
}

fn benches(c: &mut Criterion) {
    let finish = |pipeline: Pipeline| pipeline.finish();
    let mut group = c.benchmark_group("report of 1,000 execs");
    group.bench_function("make", |bench| bench.iter_batched(fed, finish, BatchSize::LargeInput));
    let report = finish(fed());
    group.bench_function("text", |bench| bench.iter(|| sink::text::write(&report, &mut io::sink())));
    group.bench_function("json", |bench| bench.iter(|| sink::json::write(&report, &mut io::sink())));
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
