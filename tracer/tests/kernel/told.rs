//! From the kernel's censuses and stacks to what the report tells of them.

use std::collections::BTreeSet;

use fdtide::{
    event::{Event, Stack, decode},
    model::{End, Model, Options, Report},
    probe::{Choice, LoadOptions, Session, StackFrame, session::boot_ns},
    symbols::Symbols,
};

use crate::support::{self, fixture::Fixture};

/// A trace whose stacks are named at its end.
struct Told {
    session: Session,
    model: Model,
    symbols: Symbols,
    stacks: BTreeSet<u32>,
}

impl Told {
    fn start(options: &LoadOptions) -> Self {
        let session = Session::open(Choice::from_env(), options).expect("a session");
        Self { session, model: Model::new(Options::default()), symbols: Symbols::new(), stacks: BTreeSet::new() }
    }

    fn take(&mut self) {
        let Self { session, model, stacks, .. } = self;
        session.drain(|bytes| {
            let event = decode(bytes).expect("a record of this version");
            if let Event::Descriptor(row) = &event {
                stacks.extend(row.stack);
            }
            model.apply(&event);
        });
    }

    fn report(mut self) -> Report {
        self.take();
        for id in self.stacks {
            let frames = self.session.stack(id).expect("its frames").into_iter();
            let frames = frames.flat_map(|frame| match frame {
                StackFrame::File { build_id, offset } => self.symbols.frame(&build_id, offset),
                StackFrame::Address(_) => Vec::new(),
            });
            self.model.apply(&Event::Stack(Box::new(Stack { at_ns: boot_ns(), id, frames: frames.collect() })));
        }
        self.model.finish(End { at_ns: boot_ns(), ..End::default() })
    }
}

#[test]
fn a_census_of_a_burst_names_the_function_that_opened_it() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    let options = LoadOptions { census_at: Some(500), stacks: true, ages: true, ..LoadOptions::default() };
    let mut told = Told::start(&options);
    let mut fixture = Fixture::start("landlock-burst", &["--mode", "eager"]);
    fixture.wait_until_it_reads();
    told.symbols.learn(fixture.pid());
    told.session.add_target(fixture.pid()).expect("it is traced");
    fixture.go();
    while fixture.next().is_some() {
        told.take();
        fixture.go();
    }
    let report = told.report();
    let census = report.censuses.iter().find(|census| census.reason == "crest").expect("a census");
    assert!(census.complete && census.descriptors.len() >= 985, "{} rows", census.descriptors.len());
    let group = &census.groups[0];
    assert!(group.kind == "o_path" && group.count >= 985, "{group:?}");
    let thread = group.opener.thread.as_ref().expect("a thread");
    assert_eq!(thread.comm.text(), "prepare-0");
    let oldest = group.oldest_ns.expect("ages");
    assert!(group.newest_ns.is_some_and(|newest| newest < oldest));
    let stack = &report.stacks[0];
    assert!(stack.count >= 985 && stack.kind == "o_path", "{stack:?}");
    // Without frame pointers in the program the kernel gets no further than the C library.
    let names: Vec<&str> = stack.frames.iter().filter_map(|frame| frame.symbol.as_deref()).collect();
    if names.is_empty() {
        support::skip("the fixtures were built without frame pointers");
        return;
    }
    assert!(names.iter().any(|name| name.contains("prepare")), "{names:?}");
    let function = group.function.as_deref().expect("a function");
    assert!(function.contains("hold_all"), "{function}");
    let mut text = Vec::new();
    fdtide::sink::text::write(&report, &mut text).expect("text");
    let text = String::from_utf8(text).expect("UTF-8");
    assert!(
        text.contains("opened in fdtide_fixtures::prepare::hold_all") || text.contains("prepare::hold_all"),
        "{text}"
    );
}
