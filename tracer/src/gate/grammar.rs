//! The grammar of a budget:
//!
//! ```text
//! budget  = [ scope ":" ] subject op number [ "%" ]
//! scope   = key "=" name { key "=" name }        key = "spawner" | "program"
//! name    = bare | '"' … '"'                      bare: no blank, no quote, no ":"
//! subject = measure | stat "(" measure ")"        stat = "min" | "max" | "p" number
//! op      = "<=" | "<" | ">=" | ">" | "==" | "!="
//! ```

use std::ops::Range;

use winnow::Parser as _;
use winnow::error::ContextError;
use winnow::stream::{LocatingSlice, Location as _, Stream as _};
use winnow::token::{literal, take_till, take_while};

use super::budget::{Budget, Limit, Op, Place, Scope, Stat, Subject};
use super::measure::{Measure, nearest};
use super::problem::Raw;

type Input<'a> = LocatingSlice<&'a str>;
type Read<T> = Result<T, Raw>;

const MEASURES: &str = "a measure (high_water, headroom, failures, …) or a quantile of one, as `p99(high_water)`";

/// Reads a whole budget. Spans are bytes of `text`.
pub(super) fn budget(text: &str) -> Read<Budget> {
    let mut input = Input::new(text);
    let scope = scope(&mut input)?;
    let subject = subject(&mut input)?;
    let op = op(&mut input)?;
    let limit = limit(&mut input, &subject)?;
    blank(&mut input);
    if !rest(&input).is_empty() {
        let span = input.current_token_start()..text.len();
        return Err(raw("there is more than one budget", "not expected", "end here: one budget at a time", span));
    }
    Ok(Budget { scope, subject, op, limit, place: Place::default() })
}

/// Whether a name in a scope needs no quotes for this character.
pub(super) fn is_bare(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !matches!(c, '"' | ':' | '\\')
}

fn scope(input: &mut Input<'_>) -> Read<Scope> {
    let mut scope = Scope::default();
    loop {
        blank(input);
        let start = input.current_token_start();
        let checkpoint = input.checkpoint();
        let key = word(input);
        let assigns = rest(input).trim_start().starts_with('=') && !rest(input).trim_start().starts_with("==");
        if !assigns {
            input.reset(&checkpoint);
            break;
        }
        let span = start..start + key.len();
        let place = match key {
            "spawner" => &mut scope.spawner,
            "program" => &mut scope.program,
            _ if Measure::parse(key).is_some() => {
                blank(input);
                let at = input.current_token_start();
                return Err(raw("`=` is no comparison", "not an operator", OPERATORS, at..at + 1));
            }
            _ => {
                let message = format!("nothing is called `{}` in a scope", key.escape_debug());
                return Err(raw(&message, "unknown", "use `spawner=NAME`, `program=NAME`, or both", span));
            }
        };
        blank(input);
        take(input, "=");
        if place.is_some() {
            return Err(raw(&format!("`{key}` is named twice"), "again", "name it once", span));
        }
        *place = Some(name(input)?);
        blank(input);
        if take(input, ":") {
            return Ok(scope);
        }
    }
    if scope.rank() > 0 {
        return Err(raw(
            "the scope does not end",
            "expected `:`",
            "put `:` between the scope and the measure: `program=true: high_water <= 64`",
            here(input),
        ));
    }
    Ok(scope)
}

fn name(input: &mut Input<'_>) -> Read<String> {
    blank(input);
    let start = input.current_token_start();
    if take(input, "\"") {
        let inner: Result<&str, ContextError> = take_till(0.., |c| c == '"').parse_next(input);
        let inner = inner.unwrap_or_default();
        if !take(input, "\"") {
            let end = input.current_token_start();
            return Err(raw("the name does not end", "no closing `\"`", "close the quotes", start..end));
        }
        return Ok(inner.to_owned());
    }
    let bare: Result<&str, ContextError> = take_while(1.., is_bare).parse_next(input);
    let help = "a name, `*` in it for any characters, in quotes if it has blanks or a colon";
    bare.map(str::to_owned).map_err(|_| raw("a name is missing", "expected a name", help, here(input)))
}

fn subject(input: &mut Input<'_>) -> Read<Subject> {
    blank(input);
    let start = input.current_token_start();
    let first = word(input);
    let span = start..start + first.len();
    if first.is_empty() {
        return Err(raw("a measure is missing", "expected a measure", &format!("write {MEASURES}"), here(input)));
    }
    blank(input);
    if !take(input, "(") {
        return Ok(Subject { measure: measure(first, span)?, stat: None });
    }
    let stat = stat(first, span.clone())?;
    blank(input);
    let start = input.current_token_start();
    let inner = word(input);
    let measure = measure(inner, start..start + inner.len().max(1))?;
    if !measure.has_distribution() {
        let message = format!("`{measure}` is one number, it has no {stat}");
        return Err(raw(&message, "no distribution", &format!("write `{measure}` alone"), span));
    }
    blank(input);
    if !take(input, ")") {
        return Err(raw("the parenthesis does not end", "expected `)`", "close it after the measure", here(input)));
    }
    Ok(Subject { measure, stat: Some(stat) })
}

fn measure(word: &str, span: Range<usize>) -> Read<Measure> {
    if let Some(measure) = Measure::parse(word) {
        return Ok(measure);
    }
    let names = Measure::names();
    let near = nearest(word, &names);
    let help = if near.is_empty() {
        let plain = names.iter().filter(|name| !name.starts_with("kinds."));
        let plain: Vec<&str> = plain.map(String::as_str).collect();
        format!("use one of {}, or kinds.KIND with a kind or group of docs/fields.md (kinds.socket)", plain.join(", "))
    } else {
        format!("did you mean {}?", near.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or "))
    };
    Err(raw(&format!("no measure is called `{}`", word.escape_debug()), "unknown", &help, span))
}

fn stat(word: &str, span: Range<usize>) -> Read<Stat> {
    let percent = word.strip_prefix('p').and_then(|number| number.parse::<f64>().ok());
    match (word, percent) {
        ("min", _) => Ok(Stat::Min),
        ("max", _) => Ok(Stat::Max),
        (_, Some(percent)) if percent > 0.0 && percent <= 100.0 => Ok(Stat::Quantile(percent / 100.0)),
        _ => {
            let message = format!("no figure of a distribution is called `{}`", word.escape_debug());
            Err(raw(&message, "unknown", "use min, max, p50, p90, p99, p99.9, or any p from above 0 to 100", span))
        }
    }
}

const OPERATORS: &str = "use <=, <, >=, >, == or !=";

fn op(input: &mut Input<'_>) -> Read<Op> {
    blank(input);
    let found = Op::ALL.into_iter().find(|(sign, _)| take(input, sign));
    found
        .map(|(_, op)| op)
        .ok_or_else(|| raw("a comparison is missing", "expected an operator", OPERATORS, here(input)))
}

fn limit(input: &mut Input<'_>, subject: &Subject) -> Read<Limit> {
    blank(input);
    let start = input.current_token_start();
    let digits: Result<&str, ContextError> =
        take_while(1.., |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '_')).parse_next(input);
    let text = digits.unwrap_or_default();
    let number = text.replace('_', "").parse::<f64>().ok().filter(|number| number.is_finite());
    let Some(number) = number else {
        let span = if text.is_empty() { here(input) } else { start..start + text.len() };
        let help =
            if subject.measure.has_percent() { "a number, or a share as `20%`" } else { "a number, as `64` or `0.5`" };
        return Err(raw("a number is missing", "expected a number", help, span));
    };
    let end = input.current_token_start();
    blank(input);
    let percent = take(input, "%");
    if percent && !subject.measure.has_percent() {
        let message = format!("`{}` can't be in percent", subject.measure);
        return Err(raw(&message, "of what?", "only headroom can, of the soft limit", start..end + 1));
    }
    Ok(Limit { number, percent })
}

fn word<'a>(input: &mut Input<'a>) -> &'a str {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '-');
    let found: Result<&str, ContextError> = take_while(0.., is_word).parse_next(input);
    found.unwrap_or_default()
}

fn blank(input: &mut Input<'_>) {
    let _: Result<&str, ContextError> = take_while(0.., char::is_whitespace).parse_next(input);
}

fn take(input: &mut Input<'_>, sign: &str) -> bool {
    let found: Result<&str, ContextError> = literal(sign).parse_next(input);
    found.is_ok()
}

fn rest<'a>(input: &Input<'a>) -> &'a str {
    input.peek_finish()
}

/// The next character, or the place behind the last.
fn here(input: &Input<'_>) -> Range<usize> {
    let at = input.current_token_start();
    at..at + rest(input).chars().next().map_or(0, char::len_utf8)
}

fn raw(message: &str, label: &str, help: &str, span: Range<usize>) -> Raw {
    Raw { message: message.to_owned(), label: label.to_owned(), help: help.to_owned(), span }
}

#[cfg(test)]
mod tests;
