//! Events to what they mean.
#![expect(missing_docs, reason = "criterion makes functions without any")]
#![expect(dead_code, reason = "not every bench needs all records")]

mod support;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use fdtide::{
    event::{Event, decode},
    model::{Model, Options},
};

fn benches(c: &mut Criterion) {
    let mut group = c.benchmark_group("model");
    for execs in [100, 10_000] {
        let events: Vec<Event> = support::run(execs).iter().filter_map(|record| decode(record).ok()).collect();
        group.throughput(Throughput::Elements(events.len() as u64));
        for stream in [false, true] {
            let way = if stream { "streamed" } else { "kept" };
            group.bench_function(format!("{execs} execs, {way}"), |bench| {
                bench.iter_batched(
                    || Model::new(Options { stream, ..Options::default() }),
                    |mut model| {
                        for event in &events {
                            model.apply(event);
                            if stream {
                                drop(model.drain_completed());
                            }
                        }
                        model
                    },
                    BatchSize::LargeInput,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
