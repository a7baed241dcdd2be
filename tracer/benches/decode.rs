//! One record's bytes to one event.
#![expect(missing_docs, reason = "criterion makes functions without any")]

mod support;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fdtide::event::decode;

fn benches(c: &mut Criterion) {
    let exec = support::one_exec();
    c.bench_function("decode/exec record", |bench| bench.iter(|| decode(black_box(&exec))));

    let run = support::run(1000);
    let mut group = c.benchmark_group("decode");
    group.throughput(Throughput::Elements(run.len() as u64));
    group.bench_function("run of 1,000 execs", |bench| {
        bench.iter(|| run.iter().filter(|record| decode(black_box(record)).is_ok()).count());
    });
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
