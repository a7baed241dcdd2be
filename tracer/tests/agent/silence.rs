//! An end in time, whoever does not answer.

use std::{fs, io::Read as _, net::TcpListener, path::Path};

use crate::{
    life::{agrees, step},
    service::Agent,
    support::{self, fixture::Fixture, line::number, poll},
    world::accepted,
};

/// What waits in a spool.
fn waiting(spool: &Path) -> u64 {
    let names = fs::read_dir(spool).expect("a spool").map(|entry| entry.expect("an entry").path());
    names.filter(|path| path.extension().is_some_and(|end| end == "parquet" || end == "rows")).count() as u64
}

#[test]
fn a_store_a_collector_and_a_command_that_never_answer_delay_neither_the_report_nor_the_end_and_lose_no_segment() {
    let Some(_kernel) = support::kernel() else { return };
    let mut target = Fixture::start("fd-case", &["03", "--nofile", "64", "--hold", "52", "--execs", "9"]);
    target.wait_until_it_reads();
    let pid = target.pid();
    let [store, collector] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    let [at, to] = [&store, &collector].map(|listener| listener.local_addr().expect("an address"));
    let config = |url: &str| {
        format!(
            "[targets]\nfollow = [\"pid:{pid}\"]\n[segments]\nurl = \"{url}\"\nspool = \"DIR/spool\"\nevery = \"1s\"\n"
        )
    };
    let silent = format!(
        "{}[otlp]\nendpoint = \"http://{to}\"\nprotocol = \"http\"\nevery = \"1s\"\ntimeout = \"1h\"\n\
         [alerts]\ntimeout = \"1h\"\non_failure = [\"/bin/sh\", \"-c\", \"echo $$ > $0/told; exec sleep 3600\", \"DIR\"]\n",
        config("s3://bucket/fdtide")
    );
    let agent = Agent::start_in(tempfile::tempdir().expect("a folder"), &silent, |command| {
        let keys = [("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test"), ("AWS_REGION", "us-east-1")];
        command.envs(keys).env("AWS_ENDPOINT_URL", format!("http://{at}")).env("AWS_ALLOW_HTTP", "true")
    });
    step(&mut target, "in-flight");
    // All three are in the middle of it, and stay there.
    let _held = [(&store, b"PUT "), (&collector, b"POST")].map(|(listener, verb)| {
        let (mut stream, mut begins) = (accepted(listener), [0; 4]);
        stream.read_exact(&mut begins).expect("a request");
        assert_eq!(&begins, verb);
        stream
    });
    let command =
        poll(20, "the command runs", || fs::read_to_string(agent.path("told")).ok()?.trim().parse::<u32>().ok());
    let line = step(&mut target, "reaped");
    let (folder, report) = agent.end();
    agrees(&report, pid, &line);
    assert_eq!(number(&report, "loss.lost") + number(&report, "loss.skipped"), 0);
    poll(20, "the command has ended too", || (!Path::new(&format!("/proc/{command}")).exists()).then_some(()));

    let left = waiting(&folder.path().join("spool"));
    assert!(left > 0, "{}", fs::read_to_string(folder.path().join("log")).expect("a log"));
    let agent = Agent::start_in(folder, &config("DIR/place"), |command| command);
    poll(20, "the next one sends what was left", || {
        (number(&agent.status().exporters["segments"], "sent") >= left).then_some(())
    });
    agent.end();
}
