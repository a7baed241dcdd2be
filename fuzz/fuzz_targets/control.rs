//! Any bytes on the control socket get an answer to each line; what an agent answers is read or refused.
#![no_main]

use fdtide::{
    agent::control::{ANSWER_MAX, Answer, Asked, MARK_MAX, REQUEST_MAX, Request, converse, mark},
    target::Selector,
};
use libfuzzer_sys::fuzz_target;
use tokio::{runtime::Builder, sync::mpsc};

fuzz_target!(|bytes: &[u8]| {
    let _ = serde_json::from_slice::<Answer>(bytes);
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    let mut told = Vec::new();
    let asked = runtime.block_on(async {
        let (ask, mut requests) = mpsc::channel(8);
        let agent = async {
            let mut asked = 0;
            while let Some(Asked { request, answer }) = requests.recv().await {
                asked += 1;
                answer.send(act(&request)).expect("whoever asked waits");
            }
            asked
        };
        let (ended, asked) = tokio::join!(converse(bytes, &mut told, ask), agent);
        ended.expect("memory neither ends nor takes long");
        asked
    });
    let answers: Vec<&[u8]> = told.split_inclusive(|byte| *byte == b'\n').collect();
    let mut done = 0;
    for line in &answers {
        assert!(line.ends_with(b"\n") && line.len() <= ANSWER_MAX);
        let answer: Answer = serde_json::from_slice(line).expect("an answer");
        assert!(!answer.text.is_empty());
        done += usize::from(answer.text.starts_with("asked: "));
    }
    assert_eq!(done, asked, "a request without its answer");
    assert_eq!(answers.len(), lines(bytes), "as many answers as lines");
});

/// Lines that are answered: up to one that is too long, or has no end.
fn lines(bytes: &[u8]) -> usize {
    let mut count = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        count += 1;
        if line.len() > REQUEST_MAX {
            break;
        }
    }
    count
}

/// As far as an agent without a trace can act.
fn act(request: &Request) -> Answer {
    let printed = serde_json::to_string(request).expect("a request is one");
    assert!(!printed.contains('\n'), "a request is a line");
    assert_eq!(serde_json::from_str::<Request>(&printed).as_ref().ok(), Some(request), "{printed}");
    let what = match request {
        Request::Add { target } | Request::Remove { target } => match target.parse::<Selector>() {
            Ok(selector) => {
                let said = selector.to_string();
                let again: Selector = said.parse().expect("a selector says what it is");
                assert!(again == selector && again.to_string() == said, "{target:?} reads back as another");
                selector.asks()
            }
            Err(error) => error.to_string(),
        },
        Request::Mark { text } => match mark(text) {
            Some(text) => {
                assert!(text.len() <= MARK_MAX && !text.contains('\n') && mark(text) == Some(text));
                text.to_owned()
            }
            None => "no mark".to_owned(),
        },
        other => format!("{other:?}"),
    };
    Answer::done(format!("asked: {what}"))
}
