//! From the kernel's censuses and stacks to what the report tells of them.

use std::collections::HashSet;

use fdtide::{
    event::{Event, Opener, Stack, decode},
    model::{End, Model, Options, Report, StackRow},
    probe::{Choice, LoadOptions, Session, StackFrame, session::boot_ns},
    symbols::Symbols,
};

use crate::support::{self, fixture::Fixture};

/// A trace whose stacks are named as they come, while who opened is there.
struct Told {
    session: Session,
    model: Model,
    symbols: Symbols,
    stacks: HashSet<u32>,
}

impl Told {
    fn start(options: &LoadOptions) -> Self {
        let session = Session::open(Choice::from_env(), options).expect("a session");
        Self { session, model: Model::new(Options::default()), symbols: Symbols::new(), stacks: HashSet::new() }
    }

    fn take(&mut self) {
        let Self { session, model, stacks, symbols } = self;
        let mut came = Vec::new();
        session.drain(|bytes| {
            let event = decode(bytes).expect("a record of this version");
            if let Event::Descriptor(row) = &event
                && let Some(stack) = row.stack
                && stacks.insert(stack)
            {
                came.push((stack, row.opener));
            }
            model.apply(&event);
        });
        for (id, opener) in came {
            let frames = session.stack(id).expect("its frames").into_iter();
            let place = |frame| match (frame, opener) {
                (StackFrame::File { build_id, offset }, _) => Some((build_id, offset)),
                (StackFrame::Address(address), Opener::Thread(thread)) => Symbols::places(thread, &[address])?[0],
                (StackFrame::Address(_), _) => None,
            };
            let places: Vec<_> = frames.filter_map(place).collect();
            let frames = places.iter().flat_map(|(build_id, offset)| symbols.frame(build_id, *offset)).collect();
            model.apply(&Event::Stack(Box::new(Stack { at_ns: boot_ns(), id, frames })));
        }
    }

    fn lost(&self) -> u64 {
        let counters = self.session.coverage().expect("counters").counters;
        counters.iter().filter(|(counter, _)| counter.name() == "stack_lost").map(|(_, count)| count).sum()
    }

    fn report(mut self) -> Report {
        self.take();
        self.model.finish(End { at_ns: boot_ns(), ..End::default() })
    }
}

/// A burst of 987 from its start to its end.
fn burst(args: &[&str]) -> Told {
    let options = LoadOptions { census_at: Some(500), stacks: true, ages: true, ..LoadOptions::default() };
    let mut told = Told::start(&options);
    let mut fixture = Fixture::start("landlock-burst", &[&["--mode", "eager"], args].concat());
    fixture.wait_until_it_reads();
    told.symbols.learn(fixture.pid());
    told.session.add_target(fixture.pid()).expect("it is traced");
    fixture.go();
    while fixture.next().is_some() {
        told.take();
        fixture.go();
    }
    told
}

/// While another thread has the mappings in hand, nobody can look up whose code an address is.
#[test]
fn a_stack_is_one_stack_also_while_mappings_change() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    let told = burst(&["--remap", "--execs", "4"]);
    // Two different ones may come to the same place of the map; it is the loop's stack that was lost by the hundred.
    assert!(told.lost() < 50, "{} stacks could not be taken", told.lost());
    let report = told.report();
    let bursts: Vec<_> = report.censuses.iter().filter(|census| census.reason == "crest").collect();
    assert!(!bursts.is_empty());
    for census in bursts {
        let of = |row: &&StackRow| (row.table, row.census) == (census.table, census.census) && row.kind == "o_path";
        let most = report.stacks.iter().filter(of).max_by_key(|row| row.count).expect("stacks");
        assert!(most.count >= 985 && most.ids.len() == 1, "{most:?}");
        assert!(most.frames.iter().any(|frame| !frame.build_id.is_empty()), "{most:?}");
    }
}

#[test]
fn a_census_of_a_burst_names_the_function_that_opened_it() {
    let Some(_kernel) = support::kernel() else { return };
    if !support::landlock() {
        return;
    }
    let told = burst(&[]);
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
