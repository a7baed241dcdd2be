//! Frames as they were looked at, and what keys do to them.

use ratatui::{
    Terminal,
    backend::TestBackend,
    buffer::Buffer,
    crossterm::event::{KeyCode, KeyEvent, KeyModifiers},
    style::Color,
};

use super::{Answer, Status, View, view::Screen};
use crate::{
    event::{Descriptor, Kind, Kinds, Name, Opener, Socket, SocketState, TableId},
    model::{Cause, CrestEnd, CrestRow, CrestThread, FailureRow, LiveExec, LiveFailure, LiveTable, LiveView},
};

const S: u64 = 1_000_000_000;

fn kinds(pairs: &[(Kind, u32)]) -> Kinds {
    pairs.iter().copied().collect()
}

fn table(id: u64, comm: &[u8], kinds: Kinds, high: Kinds, limit: u32) -> LiveTable {
    LiveTable {
        table: id,
        pids: vec![4000 + id as u32],
        ns_pids: vec![4000 + id as u32],
        container: None,
        comm: Name::from_bytes(comm),
        first_ns: id,
        seen_ns: Some(S),
        changed_ns: S,
        live: kinds.total() as u32,
        kinds,
        high_water: high.total() as u32,
        high_water_kinds: high,
        highest_number: Some(1007),
        soft_limit: limit,
        settled: Some(16),
        installs: 99_200,
        closes: 99_184,
        crests: 100,
        failures: 0,
        shared: false,
    }
}

fn burst() -> Kinds {
    kinds(&[(Kind::OPath, 989), (Kind::SocketUnix, 12), (Kind::LandlockRuleset, 2), (Kind::Pipe, 5)])
}

fn exec(seq: u64, failures: u64) -> LiveExec {
    LiveExec {
        seq,
        at_ns: 100 * S + seq * S / 50,
        pid: 4300 + seq as u32,
        program: Name::from("true"),
        spawner: 4001,
        spawner_comm: Name::from("landlock-burst"),
        spawner_table: Some(1),
        high_water: Some(1000 + seq as u32 % 9),
        kinds: Some(burst()),
        settled: Some(16),
        headroom: Some(24 - seq as u32 % 9),
        before_exec: Some(19),
        inherited: 6,
        failures,
    }
}

fn crest() -> CrestRow {
    CrestRow {
        table: 1,
        pid: 4001,
        comm: Name::from("landlock-burst"),
        from_ns: 101 * S,
        top_ns: 101 * S + 2_100_000,
        end_ns: Some(101 * S + 5_000_000),
        rise_ns: 2_100_000,
        fall_ns: Some(2_900_000),
        ended_by: CrestEnd::Fall,
        floor: 16,
        high_water: 1008,
        height: 992,
        highest_number: Some(1007),
        soft_limit: 1024,
        headroom: 16,
        kinds: burst(),
        threads: vec![CrestThread { tid: 4007, comm: Name::from("prepare-0"), held: 990 }],
        execs: vec![1],
        execs_total: 1,
    }
}

fn failure() -> LiveFailure {
    let row = FailureRow {
        errno: "EMFILE".into(),
        syscall: "pipe2".into(),
        count: 12,
        live: Some(1024),
        soft_limit: Some(1024),
        first_ns: Some(101 * S),
        last_ns: Some(102 * S),
        lowest_free: None,
        in_use: Some(1024),
        per_second: None,
        cause: Cause::TableFull,
        hidden: false,
    };
    LiveFailure { table: 1, pid: 4001, comm: Name::from("landlock-burst"), row }
}

fn busy(n: u64) -> LiveView {
    let idle = kinds(&[(Kind::File, 3), (Kind::SocketUnix, 12), (Kind::Epoll, 1)]);
    let mut main = table(1, b"landlock-burst", idle.clone(), burst(), 1024);
    main.failures = 12;
    main.pids.push(4077);
    let server =
        table(2, b"server", kinds(&[(Kind::SocketTcp, 300 + n as u32)]), kinds(&[(Kind::SocketTcp, 512)]), 1_048_576);
    let hostile = table(3, b"\x1b[31m\n\xff x", idle.clone(), idle, u32::MAX);
    LiveView {
        tables: vec![main, server, hostile],
        execs: (1..=n * 5).map(|seq| exec(seq, u64::from(seq % 7 == 3))).collect(),
        crests: vec![crest()],
        failures: vec![failure()],
        processes: 4,
        execs_total: n * 5,
    }
}

fn status(now_s: u64) -> Status {
    Status { now_ns: now_s * S, backend: "syscall".into(), ..Status::default() }
}

fn watched() -> View {
    let mut view = View::new(true);
    for n in 0..30 {
        view.update(busy(n), status(100 + n));
    }
    view
}

fn drawn(view: &View, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view.draw(frame)).unwrap();
    terminal.backend().buffer().clone()
}

fn text(buffer: &Buffer) -> String {
    let area = buffer.area;
    let line = |y| (0..area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned() + "\n";
    (0..area.height).map(line).collect()
}

fn press(view: &mut View, codes: &[KeyCode]) -> Answer {
    codes.iter().map(|code| view.key(KeyEvent::new(*code, KeyModifiers::NONE))).last().unwrap_or(Answer::Stay)
}

fn golden(name: &str, view: &View, width: u16, height: u16) {
    let path = format!("{}/src/tui/golden/{name}-{width}x{height}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = text(&drawn(view, width, height));
    if std::env::var_os("FDTIDE_BLESS").is_some() {
        std::fs::create_dir_all(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tui/golden")).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&path).unwrap_or_default(), "{path}");
}

#[test]
fn frames_are_as_they_were_looked_at() {
    let mut view = watched();
    golden("list", &view, 80, 24);
    golden("list", &view, 120, 40);
    press(&mut view, &[KeyCode::Enter]);
    golden("table", &view, 80, 24);
    golden("table", &view, 120, 40);
    press(&mut view, &[KeyCode::Char('?')]);
    golden("help", &view, 80, 24);
    golden("empty", &View::new(true), 80, 24);
}

fn descriptors() -> Vec<Descriptor> {
    let row = |number: u32, kind: Kind, name: &str| Descriptor {
        at_ns: 129 * S,
        table: TableId(1),
        census: 1,
        number,
        kind,
        cloexec: number > 2,
        file_flags: 0,
        opener: if number < 3 { Opener::Before } else { Opener::Thread(4007) },
        opened_ns: (number > 2).then_some(128 * S + u64::from(number)),
        name: Name::from(name),
        unlinked: number == 4,
        inode: 7,
        device: 1,
        socket: None,
        stack: None,
    };
    let socket = Socket {
        family: 2,
        socket_type: 1,
        protocol: 6,
        state: SocketState::Connected,
        local: Some(([127, 0, 0, 1].into(), 40_000)),
        remote: Some(([127, 0, 0, 1].into(), 443)),
    };
    let mut rows = vec![
        row(0, Kind::Tty, "/dev/pts/3"),
        row(3, Kind::OPath, "/etc/ssl/\u{1b}[2Jcerts"),
        row(4, Kind::File, "x86_64-linux-gnu/libc.so.6"),
        Descriptor { socket: Some(socket), ..row(5, Kind::SocketTcp, "") },
        row(6, Kind::Memfd, "shm"),
    ];
    rows.extend((7..60).map(|number| row(number, Kind::OPath, "/usr")));
    rows
}

#[test]
fn a_census_is_asked_for_and_shown() {
    let mut view = watched();
    assert_eq!(press(&mut view, &[KeyCode::Char('c')]), Answer::Census(1));
    view.take_census(1, descriptors());
    golden("census", &view, 80, 24);
    press(&mut view, &[KeyCode::PageDown, KeyCode::Down]);
    assert!(!text(&drawn(&view, 80, 24)).contains("pts/3"));
    for (width, height) in [(1, 1), (3, 2), (20, 5), (300, 100)] {
        drawn(&view, width, height);
    }
    press(&mut view, &[KeyCode::Esc]);
    assert_eq!(view.screen, Screen::Table(1));
    assert_eq!(press(&mut view, &[KeyCode::Char('?'), KeyCode::Char('c')]), Answer::Stay);
}

#[test]
fn any_size_can_be_drawn() {
    let mut view = watched();
    for keys in [KeyCode::Null, KeyCode::Enter, KeyCode::Char('?')] {
        press(&mut view, &[keys]);
        for (width, height) in [(1, 1), (3, 2), (20, 5), (40, 16), (79, 23), (300, 100)] {
            drawn(&view, width, height);
        }
    }
}

#[test]
fn without_colors_there_are_none_and_the_text_is_the_same() {
    let mut plain = View::new(false);
    plain.scene = watched().scene;
    let buffer = drawn(&plain, 80, 24);
    assert!(buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    assert_eq!(text(&buffer), text(&drawn(&watched(), 80, 24)));
}

#[test]
fn nothing_on_the_screen_is_what_a_terminal_obeys() {
    let buffer = drawn(&watched(), 120, 40);
    assert!(text(&buffer).contains(r"\x1b[31m\x0a\xff"));
    assert!(buffer.content.iter().all(|cell| !cell.symbol().chars().any(char::is_control)));
}

#[test]
fn loss_and_backend_are_on_every_screen() {
    let mut view = watched();
    view.update(busy(31), Status { lost: 7, missed: 2, ..status(131) });
    for keys in [KeyCode::Null, KeyCode::Enter, KeyCode::Char('?')] {
        press(&mut view, &[keys]);
        let text = text(&drawn(&view, 80, 24));
        assert!(text.starts_with("fdtide  syscall backend · 7 lost · 2 missed"), "{text}");
    }
}

fn first_row(view: &View) -> String {
    text(&drawn(view, 80, 24)).lines().nth(3).unwrap_or_default().to_owned()
}

#[test]
fn rows_are_sorted_filtered_and_the_chosen_one_stays_chosen() {
    let mut view = watched();
    assert!(first_row(&view).contains("landlock"));
    press(&mut view, &[KeyCode::Down]);
    assert_eq!(view.chosen, Some(2));
    press(&mut view, &[KeyCode::Char('s')]);
    assert!(first_row(&view).contains("server"), "by live: {}", first_row(&view));
    assert_eq!(view.chosen, Some(2));
    press(&mut view, &[KeyCode::Char('r')]);
    assert!(!first_row(&view).contains("server"));
    press(&mut view, &[KeyCode::Char('/'), KeyCode::Char('T'), KeyCode::Char('c'), KeyCode::Char('p'), KeyCode::Enter]);
    assert_eq!(view.rows().len(), 1, "kinds are looked at too");
    press(&mut view, &[KeyCode::Esc]);
    assert_eq!(view.rows().len(), 3);
    press(&mut view, &[KeyCode::Char('/'), KeyCode::Char('q')]);
    assert!(view.rows().is_empty(), "while typing, q is a letter");
    drawn(&view, 80, 24);
    assert_eq!(press(&mut view, &[KeyCode::Esc, KeyCode::Char('q')]), Answer::Quit);
}

#[test]
fn a_frozen_view_stays_and_catches_up() {
    let mut view = watched();
    let before = text(&drawn(&view, 120, 40));
    press(&mut view, &[KeyCode::Char('f')]);
    view.update(busy(40), status(140));
    let frozen = text(&drawn(&view, 120, 40));
    assert!(frozen.contains("FROZEN at 0:00:29"));
    let without_foot = |text: &str| text.lines().take(39).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(without_foot(&frozen), without_foot(&before));
    press(&mut view, &[KeyCode::Char('f')]);
    assert!(text(&drawn(&view, 120, 40)).contains("200 execs"));
}

#[test]
fn a_mark_is_what_live_is_told_against() {
    let mut view = watched();
    press(&mut view, &[KeyCode::Char('m')]);
    view.update(busy(40), status(140));
    let text = text(&drawn(&view, 80, 24));
    assert!(text.contains("±mark") && text.contains("+11") && text.contains("since the mark at 29.000 s"), "{text}");
}

#[test]
fn control_c_quits_from_everywhere_and_q_goes_back_first() {
    let mut view = watched();
    press(&mut view, &[KeyCode::Enter]);
    assert_eq!(press(&mut view, &[KeyCode::Char('q')]), Answer::Stay);
    press(&mut view, &[KeyCode::Enter]);
    assert_eq!(view.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Answer::Quit);
}

#[test]
fn a_table_that_has_gone_says_so() {
    let mut view = watched();
    press(&mut view, &[KeyCode::Enter]);
    view.update(LiveView::default(), status(131));
    assert!(text(&drawn(&view, 80, 24)).contains("this table has gone"));
}
