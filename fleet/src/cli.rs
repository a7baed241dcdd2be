//! From a command line to its answer.

use std::{
    ffi::OsString,
    fs::OpenOptions,
    io::{self, BufWriter, IsTerminal as _, Write},
    os::unix::fs::OpenOptionsExt as _,
    process::ExitCode,
};

use clap::Parser as _;
use futures::TryStreamExt as _;

use crate::{
    Ask, Dialect, Error, Question, Span,
    args::{Args, Format},
    engine::Engine,
    out::{self, Coverage, Rows},
    question, source,
    table::{self, Cell},
};

/// Rows of a text, if not told otherwise: a screen.
const ROWS: usize = 20;
/// Failed.
const FAILED: u8 = 2;

/// Runs the program and gives its exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            // Nothing is left to be done about a stderr that can't be written.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(FAILED) } else { ExitCode::SUCCESS };
        }
    };
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that has gone is no failure.
        Err(Error::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "fdtide-fleet: {:#}", anyhow::Error::from(error));
            ExitCode::from(FAILED)
        }
    }
}

fn run(args: &Args) -> Result<(), Error> {
    let span = Span { since: moment(args.since.as_deref())?, until: moment(args.until.as_deref())? };
    let question = Question::new(args.question.ask(), &args.by, args.figure.figure(), span, args.since_mark.clone())?;
    if let Some(engine) = args.print_sql {
        let dialect = engine.dialect();
        let text = format!("{}{}{}", dialect.source(&args.places), question.sql(dialect), dialect.end());
        return Ok(output(args)?.write_all(text.as_bytes())?);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(answer(args, &question))
}

async fn answer(args: &Args, question: &Question) -> Result<(), Error> {
    let files = source::find(&args.places).await?;
    source::refuse_newer(&files)?;
    let segments = files.files.len();
    let engine = Engine::new(files).await?;
    let mut coverage = covered(&engine, &question.span).await?;
    coverage.segments = segments;
    if question.ask == Ask::Growth && args.sql.is_none() {
        coverage.notes.extend(marked(&engine, question, coverage.hosts).await?);
    }
    let sql = args.sql.clone().unwrap_or_else(|| question.sql(Dialect::Datafusion));
    let name = if args.sql.is_some() { "sql" } else { question.ask.name() };
    write(args, &engine, &sql, name, &coverage).await
}

async fn write(args: &Args, engine: &Engine, sql: &str, name: &str, coverage: &Coverage) -> Result<(), Error> {
    let mut stream = engine.ask(sql).await?;
    let names: Vec<String> = stream.schema().fields().iter().map(|field| field.name().clone()).collect();
    let mut out = output(args)?;
    if args.format == Format::Text {
        let most = args.rows.unwrap_or(ROWS);
        let (mut shown, mut all) = (Vec::new(), 0);
        while let Some(batch) = stream.try_next().await? {
            all += batch.num_rows();
            let room = most.saturating_sub(shown.len()).min(batch.num_rows());
            shown.extend(table::rows(&batch.slice(0, room))?);
        }
        out::text(&names, &shown, all, coverage, &mut out)?;
        return Ok(out.flush()?);
    }
    let mut rows: Box<dyn Rows + '_> = match args.format {
        Format::Json => Box::new(out::Json::new(&mut out, name)),
        _ => Box::new(out::Csv(&mut out)),
    };
    rows.begin(&names)?;
    let mut left = args.rows.unwrap_or(usize::MAX);
    while let Some(batch) = stream.try_next().await? {
        for row in table::rows(&batch)?.iter().take(left) {
            rows.row(row)?;
        }
        left = left.saturating_sub(batch.num_rows());
    }
    rows.end(coverage)?;
    if args.format == Format::Csv && coverage.is_partial() {
        // CSV has no place for it.
        let _ = writeln!(io::stderr(), "fdtide-fleet: {}", coverage.told());
    }
    Ok(())
}

fn output(args: &Args) -> Result<Box<dyn Write>, Error> {
    Ok(match &args.output {
        Some(path) => {
            let mut options = OpenOptions::new();
            // Its owner's alone, as what it was made of; one that is there keeps its mode.
            let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
            Box::new(BufWriter::new(file.map_err(|error| named(error, path))?))
        }
        None if io::stdout().is_terminal() => Box::new(io::stdout()),
        None => Box::new(BufWriter::new(io::stdout())),
    })
}

fn named(error: io::Error, path: &std::path::Path) -> io::Error {
    io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

/// All rows of a small answer.
async fn rows(engine: &Engine, sql: &str) -> Result<Vec<Vec<Cell>>, Error> {
    let batches: Vec<_> = engine.ask(sql).await?.try_collect().await?;
    let mut rows = Vec::new();
    for batch in &batches {
        rows.extend(table::rows(batch)?);
    }
    Ok(rows)
}

async fn covered(engine: &Engine, span: &Span) -> Result<Coverage, Error> {
    let rows = rows(engine, &question::coverage(span, Dialect::Datafusion)).await?;
    let row = rows.into_iter().next().unwrap_or_default();
    let whole = |at: usize| row.get(at).and_then(Cell::whole).unwrap_or(0);
    let text = |at: usize| row.get(at).and_then(Cell::text).map(str::to_owned);
    Ok(Coverage {
        hosts: whole(0),
        from_to: text(1).zip(text(2)),
        lost: whole(3),
        missed: whole(4),
        skipped: whole(5),
        dropped: whole(6),
        ..Coverage::default()
    })
}

/// What is to be said of a mark: on how many hosts it is.
async fn marked(engine: &Engine, question: &Question, hosts: i64) -> Result<Option<String>, Error> {
    let text = question.mark.clone().unwrap_or_default();
    let found = rows(engine, &question::marked(&text)).await?;
    let count = found.first().and_then(|row| row.first()).and_then(Cell::whole).unwrap_or(0);
    if count > 0 {
        let note = format!("the mark is on {count} of {hosts} hosts; the others are left out");
        return Ok((count < hosts).then_some(note));
    }
    let all = Question { ask: Ask::Marks, ..question.clone() };
    let marks = rows(engine, &all.sql(Dialect::Datafusion)).await?;
    let names: Vec<String> =
        marks.iter().filter_map(|row| row.first()?.text()).map(|mark| format!("`{mark}`")).take(8).collect();
    let known = if names.is_empty() {
        "there is none at all: set marks with `fdtide ctl mark TEXT`".to_owned()
    } else {
        format!("there are {}", names.join(", "))
    };
    Err(Error::NoMark { text, known })
}

/// A moment as RFC 3339: a day begins at midnight, UTC.
fn moment(text: Option<&str>) -> Result<Option<String>, Error> {
    let Some(text) = text else { return Ok(None) };
    let full = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    let shape: String = full.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let month_day = full.get(5..7).zip(full.get(8..10));
    let plausible =
        month_day.is_some_and(|(month, day)| ("01"..="12").contains(&month) && ("01"..="31").contains(&day));
    if shape != "0000-00-00T00:00:00Z" || !plausible {
        return Err(Error::Moment { text: text.to_owned() });
    }
    Ok(Some(full))
}
